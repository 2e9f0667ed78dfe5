/** A small provider of spans and metrics in memory, for tests of what is reported. */
import {
  type Attributes,
  type AttributeValue,
  type Context,
  context,
  type ContextManager,
  createNoopMeter,
  type MeterProvider,
  metrics,
  ROOT_CONTEXT,
  type Span,
  type SpanOptions,
  type SpanStatus,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import { AsyncLocalStorage } from "node:async_hooks";

/** A span as it was reported. */
export interface SeenSpan {
  readonly name: string;
  readonly parent: SeenSpan | null;
  readonly attributes: Attributes;
  status: SpanStatus | null;
  /** Times that it was ended. */
  ends: number;
}

/** One number that was reported. */
export interface Measured {
  readonly name: string;
  readonly value: number;
  readonly attributes: Attributes;
}

/** What was reported since {@link startTracing}; disposing of it puts the no-op provider back. */
export interface Tracing extends Disposable {
  readonly spans: readonly SeenSpan[];
  readonly measured: readonly Measured[];
  /** Calls of the API, of every kind. */
  readonly operations: number;
}

/** Registers the provider. */
export function startTracing(): Tracing {
  const spans: SeenSpan[] = [];
  const measured: Measured[] = [];
  const seen = new WeakMap<Span, SeenSpan>();
  const storage = new AsyncLocalStorage<Context>();
  let operations = 0;

  function spanOf(found: SeenSpan): Span {
    const id = String(spans.length).padStart(16, "0");
    const span: Span = {
      spanContext: () => ({ traceId: "1".repeat(32), spanId: id, traceFlags: 1 }),
      setAttribute(name: string, value: AttributeValue) {
        operations++;
        found.attributes[name] = value;
        return span;
      },
      setAttributes(attributes) {
        operations++;
        Object.assign(found.attributes, attributes);
        return span;
      },
      addEvent: () => span,
      addLink: () => span,
      addLinks: () => span,
      setStatus(status) {
        operations++;
        found.status = status;
        return span;
      },
      updateName: () => span,
      end() {
        operations++;
        found.ends++;
      },
      isRecording: () => found.ends === 0,
      recordException() {},
    };
    seen.set(span, found);
    return span;
  }

  const tracer = {
    startSpan(name: string, { attributes }: SpanOptions = {}, within: Context = context.active()): Span {
      operations++;
      const around = trace.getSpan(within);
      const parent = around === undefined ? null : seen.get(around) ?? null;
      const found: SeenSpan = { name, parent, attributes: { ...attributes }, status: null, ends: 0 };
      spans.push(found);
      return spanOf(found);
    },
  } as unknown as Tracer;

  const manager: ContextManager = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with(within, run, self, ...args) {
      operations++;
      return storage.run(within, () => run.apply(self as ThisParameterType<typeof run>, args));
    },
    bind: (_, target) => target,
    enable: () => manager,
    disable: () => manager,
  };

  const meter = createNoopMeter();
  const instrument = (name: string) => {
    const note = (value: number, attributes: Attributes = {}): void => {
      operations++;
      measured.push({ name, value, attributes });
    };
    return { add: note, record: note };
  };
  const provider: MeterProvider = {
    getMeter: () =>
      Object.assign(Object.create(meter), { createCounter: instrument, createHistogram: instrument }),
  };

  trace.setGlobalTracerProvider({ getTracer: () => tracer });
  context.setGlobalContextManager(manager);
  metrics.setGlobalMeterProvider(provider);
  return {
    spans,
    measured,
    get operations() {
      return operations;
    },
    [Symbol.dispose]() {
      trace.disable();
      context.disable();
      metrics.disable();
    },
  };
}
