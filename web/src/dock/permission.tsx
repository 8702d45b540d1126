// Somebody wants to do something and needs a yes: the whole of it, and what "always" would mean.

import { For, Show, createMemo, lazy } from "solid-js";
import { Icon } from "../kit/icon.tsx";
import { showToast } from "../kit/toast.tsx";
import { api } from "../view/live.ts";
import { ancestry, part, partIds, session } from "../view/store.ts";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";
import { asCallError, segment } from "../wire/api.ts";
import type { Fields, PermissionRequest } from "../wire/types.ts";
import { dockSignal } from "./dock-signal.ts";

const DiffView = lazy(() => import("../panel/diff.tsx").then((file) => ({ default: file.DiffView })));

type Reply = "once" | "always" | "reject";

export function PermissionDock(props: { request: PermissionRequest }) {
  const [stage, setStage] = dockSignal<"ask" | "always" | "why" | "sent">(props.request.id, "stage", "ask");
  const [reason, setReason] = dockSignal(props.request.id, "reason", "");
  /** By somebody who is here: the focus goes on to the second question. */
  let isPicked = false;
  const directory = () => session(props.request.sessionID)?.directory;

  const reply = async (answer: Reply, message?: string) => {
    setStage("sent");
    try {
      const body = message ? { reply: answer, message } : { reply: answer };
      await api.post(`/permission/${segment(props.request.id)}/reply`, body, { directory: directory() });
    } catch (cause) {
      const error = asCallError(cause);
      if (error.status === 404) return showToast(panelWords.answeredElsewhere);
      showToast(error.message, "bad");
      setStage("ask");
    }
  };
  return (
    <section class="dock permission" aria-label={`${words.status.asks}: ${props.request.permission}`} data-ask={props.request.id}>
      <header>
        <Icon name="shield-question" />
        <Chain sessionID={props.request.sessionID} />
        <strong>{panelWords.asksPermission(props.request.permission)}</strong>
      </header>
      <Wanted request={props.request} />
      <Show when={stage() === "always"}>
        <div class="always">
          <p class="small">{panelWords.alwaysMeans}</p>
          <ul>
            <For each={props.request.always}>{(pattern) => <li><code>{props.request.permission} {pattern}</code></li>}</For>
          </ul>
        </div>
      </Show>
      <Show when={stage() === "why"}>
        <textarea aria-label={panelWords.denyReason} placeholder={panelWords.denyReason} value={reason()} onInput={(event) => setReason(event.currentTarget.value)} />
      </Show>
      <footer class="dock-buttons">
        <Show when={stage() !== "why"} fallback={
          <>
            <button type="button" class="danger" onClick={() => void reply("reject", reason())}>{panelWords.deny}</button>
            <button type="button" onClick={() => setStage("ask")}>{words.back}</button>
          </>
        }>
          <button type="button" class="primary" data-key="1" disabled={stage() === "sent"} onClick={() => void reply("once")}>
            <Icon name="check" /> {panelWords.allowOnce}
          </button>
          <Show when={stage() === "always"} fallback={
            <Show when={props.request.always.length > 0}>
              <button type="button" data-key="2" disabled={stage() === "sent"} onClick={() => { isPicked = true; setStage("always"); }}>{panelWords.always}</button>
            </Show>
          }>
            <button type="button" data-key="2" ref={(button) => isPicked && queueMicrotask(() => button.focus())} onClick={() => void reply("always")}>{panelWords.alwaysSure}</button>
          </Show>
          <button type="button" class="danger" data-key="3" disabled={stage() === "sent"} onClick={() => void reply("reject")}>{panelWords.deny}</button>
          <button type="button" disabled={stage() === "sent"} onClick={() => setStage("why")}>{panelWords.denyWhy}</button>
        </Show>
      </footer>
    </section>
  );
}

/** Who asks: from the root down. */
export function Chain(props: { sessionID: string }) {
  const path = createMemo(() => ancestry(props.sessionID));
  return (
    <span class="chain cut">
      <For each={path()}>
        {(step, index) => (
          <>
            <Show when={index() > 0}> › </Show>
            {step.title}
          </>
        )}
      </For>
    </span>
  );
}

/** The whole command or change; patterns alone do not show what would happen. */
function Wanted(props: { request: PermissionRequest }) {
  const call = createMemo(() => {
    const { tool, sessionID } = props.request;
    if (!tool) return undefined;
    const found = partIds(sessionID, tool.messageID).map((id) => part(sessionID, id));
    return found.find((one) => one?.type === "tool" && one.callID === tool.callID);
  });
  const input = (): Fields => {
    const found = call();
    return found?.type === "tool" ? found.state.input : {};
  };
  const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
  const diff = () => text(props.request.metadata["diff"]);
  const command = () => text(props.request.metadata["command"]) ?? text(input()["command"]);
  const rest = () => Object.entries({ ...input(), ...props.request.metadata }).filter(([name]) => name !== "diff" && name !== "command");
  return (
    <div class="wanted" tabindex="0">
      <Show when={command()}>{(line) => <pre class="terminal command">{line()}</pre>}</Show>
      <Show when={diff()}>{(patch) => <><p class="card-note"><code>{props.request.patterns.join(", ")}</code></p><DiffView patch={patch()} /></>}</Show>
      <Show when={!command() && !diff()}>
        <dl class="fields">
          <Show when={!rest().some(([, value]) => value === props.request.patterns.join(", "))}>
            <dt>{props.request.permission}</dt>
            <dd>{props.request.patterns.join(", ")}</dd>
          </Show>
          <For each={rest()}>
            {([name, value]) => (
              <>
                <dt>{name}</dt>
                <dd>{typeof value === "string" ? value : JSON.stringify(value)}</dd>
              </>
            )}
          </For>
        </dl>
      </Show>
    </div>
  );
}
