/**
 * What is counted of turns, by OpenTelemetry's metrics API.
 *
 * @module
 */
import {
  type Counter,
  type Histogram,
  type MeterProvider,
  metrics,
  trace,
  type Tracer,
} from "@opentelemetry/api";

/** The name under which everything is reported. */
const SCOPE = "selvage";

/** The instruments of the service. */
export interface Instruments {
  readonly turns: Counter;
  readonly steps: Counter;
  readonly compactions: Counter;
  readonly deferrals: Counter;
  readonly turnDuration: Histogram;
  readonly toolDuration: Histogram;
  readonly modelDuration: Histogram;
  readonly tokens: Histogram;
}

let known: { readonly provider: MeterProvider; readonly instruments: Instruments } | null = null;

/** The instruments of the provider in force: one may be registered later than this module is loaded. */
export function instruments(): Instruments {
  const provider = metrics.getMeterProvider();
  if (known?.provider !== provider) known = { provider, instruments: make(provider) };
  return known.instruments;
}

/** The tracer of the provider in force. */
export function tracer(): Tracer {
  return trace.getTracer(SCOPE);
}

function make(provider: MeterProvider): Instruments {
  const meter = provider.getMeter(SCOPE);
  return {
    turns: meter.createCounter("selvage.turns", { unit: "{turn}", description: "Turns that ended" }),
    steps: meter.createCounter("selvage.steps", { unit: "{step}", description: "Steps that began" }),
    compactions: meter.createCounter("selvage.compactions", {
      unit: "{compaction}",
      description: "Compactions, by what became of them",
    }),
    deferrals: meter.createCounter("selvage.deferrals", {
      unit: "{deferral}",
      description: "Compactions that were due and found no legal cut",
    }),
    turnDuration: meter.createHistogram("selvage.turn.duration", {
      unit: "s",
      description: "From the lease to the last event",
    }),
    toolDuration: meter.createHistogram("selvage.tool.duration", {
      unit: "s",
      description: "One call of a tool",
    }),
    // The two below have their names, units and attributes from the semantic conventions for generative AI.
    modelDuration: meter.createHistogram("gen_ai.client.operation.duration", {
      unit: "s",
      description: "One call of the model",
    }),
    tokens: meter.createHistogram("gen_ai.client.token.usage", {
      unit: "{token}",
      description: "Tokens that a provider billed for one call",
    }),
  };
}
