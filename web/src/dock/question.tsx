// The model asks a person: one question at a time.

import { For, Show, createSignal } from "solid-js";
import { Icon } from "../kit/icon.tsx";
import { showToast } from "../kit/toast.tsx";
import { api } from "../view/live.ts";
import { session } from "../view/store.ts";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";
import { asCallError, segment } from "../wire/api.ts";
import type { QuestionRequest } from "../wire/types.ts";
import { dockSignal } from "./dock-signal.ts";
import { Chain } from "./permission.tsx";

export function QuestionDock(props: { request: QuestionRequest }) {
  const [at, setAt] = dockSignal(props.request.id, "at", 0);
  const [answers, setAnswers] = dockSignal<readonly (readonly string[])[]>(props.request.id, "answers", props.request.questions.map(() => []));
  const [own, setOwn] = dockSignal<readonly string[]>(props.request.id, "own", props.request.questions.map(() => ""));
  const [isSent, setSent] = createSignal(false);
  const question = () => props.request.questions[at()];
  const chosen = () => answers()[at()] ?? [];
  const isLast = () => at() === props.request.questions.length - 1;

  const choose = (label: string) => {
    const list = chosen();
    const next = question()?.multiple === true ? (list.includes(label) ? list.filter((one) => one !== label) : [...list, label]) : [label];
    setAnswers((known) => known.map((one, index) => (index === at() ? next : one)));
  };
  const complete = () => answers().map((list, index) => (own()[index] ? [...list, own()[index] ?? ""] : [...list]));
  const send = async (what: "reply" | "reject") => {
    setSent(true);
    try {
      const directory = session(props.request.sessionID)?.directory;
      await api.post(`/question/${segment(props.request.id)}/${what}`, what === "reply" ? { answers: complete() } : {}, { directory });
    } catch (cause) {
      const error = asCallError(cause);
      if (error.status === 404) return showToast(panelWords.answeredElsewhere);
      showToast(error.message, "bad");
      setSent(false);
    }
  };
  return (
    <section class="dock question" aria-label={question()?.header ?? ""} data-ask={props.request.id}>
      <header>
        <Icon name="circle-help" />
        <Chain sessionID={props.request.sessionID} />
        <Show when={props.request.questions.length > 1}>
          <span class="muted small num">{panelWords.question(at() + 1, props.request.questions.length)}</span>
        </Show>
      </header>
      <Show when={question()}>
        {(asked) => (
          <fieldset>
            <legend>{asked().question}</legend>
            <For each={asked().options}>
              {(option) => (
                <label class="option">
                  <input type={asked().multiple === true ? "checkbox" : "radio"} name={props.request.id} checked={chosen().includes(option.label)} onChange={() => choose(option.label)} />
                  <span>
                    <strong>{option.label}</strong> <span class="muted small">{option.description}</span>
                  </span>
                </label>
              )}
            </For>
            <Show when={asked().custom !== false}>
              <input type="text" aria-label={panelWords.ownAnswer} placeholder={panelWords.ownAnswer} value={own()[at()] ?? ""}
                onInput={(event) => setOwn((known) => known.map((one, index) => (index === at() ? event.currentTarget.value : one)))} />
            </Show>
          </fieldset>
        )}
      </Show>
      <footer class="dock-buttons">
        <Show when={isLast()} fallback={<button type="button" class="primary" onClick={() => setAt(at() + 1)}>{panelWords.next}</button>}>
          <button type="button" class="primary" disabled={isSent()} onClick={() => void send("reply")}>{panelWords.answer}</button>
        </Show>
        <Show when={at() > 0}>
          <button type="button" onClick={() => setAt(at() - 1)}>{words.back}</button>
        </Show>
        <button type="button" disabled={isSent()} onClick={() => void send("reject")}>{panelWords.dismiss}</button>
      </footer>
    </section>
  );
}
