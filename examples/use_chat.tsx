/**
 * A page for a chat: `useChat` as it is, at the service's address. It shows text, reasoning and tools as they come, asks
 * for approvals, tells of compactions, finds its history and a running answer again after a reload.
 *
 *     npm install ai @ai-sdk/react react
 */
/// <reference lib="dom" />
import { type Chat, useChat } from "@ai-sdk/react";
import { type ChatInit, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";
import type { UIMessage } from "ai";
// @ts-types="npm:@types/react@19.3.3"
import { type FormEvent, useState } from "react";

/** What the service adds to a message. */
type AgentMessage = UIMessage<
  { readonly usage?: { readonly totalTokens: number } },
  {
    compaction: { readonly phase: string; readonly tokensBefore?: number; readonly tokensAfter?: number };
    context: { readonly tokens: number; readonly window: number };
  }
>;

/** Loads a chat as the service has it; empty for a new one. */
export async function loadChat(api: string, id: string): Promise<ChatInit<AgentMessage>> {
  const response = await fetch(`${api}/${id}`);
  const text = await response.text();
  return {
    id,
    messages: response.ok ? JSON.parse(text) : [],
    // The answer goes on while the page reloads.
    transport: new DefaultChatTransport({ api, body: { onDisconnect: "continue" } }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  };
}

/** The page. `init` is what {@link loadChat} gave, or a chat that was made of it. */
export function ChatPage({ init }: { init: ChatInit<AgentMessage> | { chat: Chat<AgentMessage> } }) {
  const { messages, sendMessage, regenerate, status, error, addToolApprovalResponse } = useChat<AgentMessage>(
    {
      ...init,
      resume: true,
    },
  );
  const [text, setText] = useState("");
  const send = (event: FormEvent): void => {
    event.preventDefault();
    void sendMessage({ text });
    setText("");
  };
  return (
    <main>
      {messages.map((message) => (
        <section key={message.id} className={message.role}>
          {message.parts.map((part, at) => {
            if (part.type === "text") return <p key={at}>{part.text}</p>;
            if (part.type === "reasoning") return <details key={at}>{part.text}</details>;
            if (part.type === "data-compaction") {
              return <hr key={at} title={`${part.data.tokensBefore} → ${part.data.tokensAfter} tokens`} />;
            }
            if (!part.type.startsWith("tool-") || !("toolCallId" in part)) return null;
            const { state, approval } = part;
            return (
              <div key={at}>
                <code>{`${part.type.slice("tool-".length)} ${JSON.stringify(part.input)}: ${state}`}</code>
                {state === "approval-requested" && [true, false].map((approved) => (
                  <button
                    type="button"
                    key={String(approved)}
                    onClick={() => void addToolApprovalResponse({ id: approval.id, approved })}
                  >
                    {approved ? "Allow" : "Deny"}
                  </button>
                ))}
              </div>
            );
          })}
        </section>
      ))}
      {error && <p role="alert">{error.message}</p>}
      <form onSubmit={send}>
        <input value={text} onChange={(event) => setText(event.target.value)} disabled={status !== "ready"} />
        <button type="button" onClick={() => void regenerate()}>Again</button>
      </form>
    </main>
  );
}
