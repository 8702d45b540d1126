// Errors by class: what is said, and the way on.

import { Show } from "solid-js";
import { Icon } from "../kit/icon.tsx";
import { words } from "../words/en.ts";
import { promptAgain, compactNow, continueTurn } from "../view/actions.ts";
import { isInterrupted } from "../wire/failure.ts";
import type { AssistantMessage, Failure } from "../wire/types.ts";

interface ErrorDescription {
  readonly title: string;
  readonly hint?: string | undefined;
  readonly tone: "bad" | "warn" | "thin";
  readonly recovery?: "again" | "continue" | "compact";
  /** About a missing key: the settings say where to set it. */
  readonly isAboutKey?: boolean;
}

/** An error of a kind that nobody knew may come without any. */
function dataOf(error: Failure): Failure["data"] {
  return (error.data as Failure["data"] | undefined) ?? {};
}

function describe(error: Failure): ErrorDescription {
  const data = dataOf(error);
  switch (error.name) {
    case "ProviderAuthError":
      return { title: words.error.auth(data.providerID ?? ""), hint: `${data.message ?? ""} ${words.error.authHint}`.trim(), tone: "bad", recovery: "again", isAboutKey: true };
    case "APIError": {
      const code = data.statusCode === undefined ? "" : ` (${data.statusCode})`;
      const said = (data.message ?? "").trim();
      const hint = data.isRetryable === false ? `${said}${/[.!?]$/.test(said) || said === "" ? "" : "."} ${words.error.apiFinal}` : said;
      return { title: `${words.error.api}${code}`, hint, tone: "bad", recovery: "again" };
    }
    case "MessageAbortedError":
      return { title: isInterrupted(error) ? words.error.restarted : words.error.aborted, hint: data.message, tone: "thin", recovery: "continue" };
    case "ContextOverflowError":
      return { title: words.error.overflow, hint: data.message, tone: "warn", recovery: "compact" };
    case "ContentFilterError":
      return { title: words.error.filtered, hint: data.message, tone: "warn", recovery: "continue" };
    case "MessageOutputLengthError":
      return { title: words.error.length, tone: "warn", recovery: "continue" };
    case "StructuredOutputError":
      return { title: words.error.structured(data.retries ?? 0), hint: data.message, tone: "bad", recovery: "again" };
    default: {
      const ref = data.ref === undefined ? "" : ` ${words.error.ref(data.ref)}`;
      return { title: words.error.unknown, hint: `${data.message ?? error.name}${ref}`, tone: "bad", recovery: "again" };
    }
  }
}

export function StepError(props: { error: Failure; info: AssistantMessage }) {
  return <ErrorBox error={props.error} sessionID={props.info.sessionID} promptID={props.info.parentID} />;
}

/** An error of a session that no answer carries. */
export function ErrorNotice(props: { error: Failure; sessionID: string }) {
  return <ErrorBox error={props.error} sessionID={props.sessionID} promptID={undefined} />;
}

function ErrorBox(props: { error: Failure; sessionID: string; promptID: string | undefined }) {
  const described = () => describe(props.error);
  const body = () => {
    const { responseBody, responseHeaders } = dataOf(props.error);
    const headers = Object.entries(responseHeaders ?? {}).map(([name, value]) => `${name}: ${value}`);
    return [headers.join("\n"), responseBody ?? ""].filter(Boolean).join("\n\n");
  };
  return (
    <div class={`error is-${described().tone}`} role="group" aria-label={described().title}>
      <Icon name={described().tone === "thin" ? "circle-pause" : "triangle-alert"} />
      <div class="grow">
        <strong>{described().title}</strong>
        <Show when={described().hint && described().hint !== described().title}>
          <p class="small">{described().hint}</p>
        </Show>
        <Show when={!READ_ONLY && described().isAboutKey}><p class="small"><a href="/settings">{words.settings}</a></p></Show>
        <Show when={body() !== ""}>
          <details>
            <summary class="small muted">{words.error.details}</summary>
            <pre class="terminal">{body()}</pre>
          </details>
        </Show>
      </div>
      <RecoveryButton described={described()} sessionID={props.sessionID} promptID={props.promptID} />
    </div>
  );
}

function RecoveryButton(props: { described: ErrorDescription; sessionID: string; promptID: string | undefined }) {
  if (READ_ONLY) return null;
  return (
    <>
      <Show when={props.described.recovery === "again" && props.promptID}>
        {(id) => (
          <button type="button" onClick={() => void promptAgain(props.sessionID, id())}>
            <Icon name="refresh-cw" /> {words.error.tryAgain}
          </button>
        )}
      </Show>
      <Show when={props.described.recovery === "continue"}>
        <button type="button" onClick={() => void continueTurn(props.sessionID)}>
          <Icon name="play" /> {words.error.goOn}
        </button>
      </Show>
      <Show when={props.described.recovery === "compact"}>
        <button type="button" onClick={() => void compactNow(props.sessionID)}>{words.error.compact}</button>
      </Show>
    </>
  );
}
