// Where a prompt is written. Nothing typed is ever lost: the draft is kept until the server has stored it.

import { For, Show, createEffect, createMemo, createSignal, on, onCleanup, onMount } from "solid-js";
import { Icon } from "../kit/icon.tsx";
import { say } from "../kit/toast.tsx";
import { asCallError } from "../sync/send.ts";
import { stop } from "../view/actions.ts";
import { draft, keepDraft } from "../view/drafts.ts";
import { api } from "../view/live.ts";
import { type Catalog, chosenModel, loadCatalog } from "../view/catalog.ts";
import { type NewPart, sendPrompt, whenDropped } from "../view/prompts.ts";
import { message, session, status, thread } from "../view/store.ts";
import { partsOf } from "../timeline/turn.tsx";
import { words } from "../words/en.ts";
import { segment } from "../wire/api.ts";
import { Suggestions } from "./suggestions.tsx";

interface Attached {
  readonly name: string;
  readonly mime: string;
  readonly url: string;
}

const FILE_BYTES_MAX = 20 * 1024 * 1024;

export interface ComposerHandle {
  put(text: string): void;
  focus(): void;
}

export function Composer(props: {
  /** None: the first prompt creates the session. */
  sessionID: string | undefined;
  directory: string | undefined;
  create?: () => Promise<string | undefined>;
  ref?: (handle: ComposerHandle) => void;
}) {
  const name = () => props.sessionID ?? "new";
  const [text, setText] = createSignal(draft(name()));
  const [files, setFiles] = createSignal<readonly Attached[]>([]);
  const [catalog, setCatalog] = createSignal<Catalog>();
  const [isStopping, setStopping] = createSignal(false);
  const [caret, setCaret] = createSignal(0);
  const [picked, setPicked] = createSignal<{ readonly model?: string; readonly agent?: string; readonly variant?: string }>({});
  let field!: HTMLTextAreaElement;
  let picker!: HTMLInputElement;
  let camera!: HTMLInputElement;

  const busy = () => props.sessionID !== undefined && status(props.sessionID).type !== "idle";
  const isShell = () => text().startsWith("!");
  const info = () => (props.sessionID === undefined ? undefined : session(props.sessionID));
  const model = createMemo(() => chosenModel(catalog(), picked().model, info()));
  const isTouch = matchMedia("(pointer: coarse)").matches;

  const change = (value: string) => {
    setText(value);
    setCaret(field.selectionStart);
    keepDraft(name(), value);
    fit();
  };
  const fit = () => {
    field.style.blockSize = "auto";
    field.style.blockSize = `${Math.min(field.scrollHeight + 2, innerHeight * 0.4)}px`;
  };
  const put = (value: string) => {
    const whole = text() === "" ? value : `${text()}\n${value}`;
    field.value = whole;
    change(whole);
    field.focus();
  };

  createEffect(on(name, (id) => {
    setText(draft(id));
    field.value = text();
    setFiles([]);
    setPicked({});
    fit();
  }));
  createEffect(() => {
    if (!busy()) setStopping(false);
  });
  onMount(() => {
    fit();
    props.ref?.({ put, focus: () => field.focus() });
    whenDropped((sessionID, dropped) => sessionID === props.sessionID && put(dropped));
    if (!isTouch) field.focus({ preventScroll: true });
    void loadCatalog(props.directory).then(setCatalog).catch((cause) => say(asCallError(cause).message, "bad"));
    onCleanup(() => whenDropped(() => {}));
  });

  const submit = async () => {
    const said = text().trim();
    const attached = files();
    if (said === "" && attached.length === 0) return;
    const id = props.sessionID ?? (await props.create?.());
    if (id === undefined) return;
    setText("");
    field.value = "";
    setFiles([]);
    fit();
    const isStored = await deliver(id, said, attached);
    // A draft that was not stored is kept beside the failed prompt, and goes when that one is sent or edited.
    if (isStored && text() === "") keepDraft(name(), "");
  };

  const deliver = async (id: string, said: string, attached: readonly Attached[]) => {
    const choice = { agent: picked().agent, model: model(), variant: picked().variant };
    if (said.startsWith("!")) return run(() => api.post(`/session/${segment(id)}/shell`, { agent: choice.agent ?? "build", command: said.slice(1).trim(), model: choice.model }));
    const command = /^\/(\S+)\s*([\s\S]*)$/.exec(said);
    if (command && catalog()?.commands.some((known) => known.name === command[1])) {
      const chosen = choice.model ? `${choice.model.providerID}/${choice.model.modelID}` : undefined;
      return run(() => api.post(`/session/${segment(id)}/command`, { command: command[1], arguments: command[2] ?? "", agent: choice.agent, model: chosen }));
    }
    const parts: NewPart[] = [];
    if (said !== "") parts.push({ type: "text", text: said });
    for (const file of attached) parts.push({ type: "file", mime: file.mime, url: file.url, filename: file.name });
    return sendPrompt(id, parts, choice);
  };

  /** A shell or a command answers at its end; a failure puts the words back. */
  const run = async (call: () => Promise<unknown>) => {
    const kept = text();
    try {
      await call();
      return true;
    } catch (cause) {
      say(asCallError(cause).message, "bad");
      if (kept === "") put(draft(name()));
      return false;
    }
  };

  const attach = async (list: Iterable<File>) => {
    for (const file of list) {
      if (file.size > FILE_BYTES_MAX) say(`${file.name}: ${Math.round(file.size / 1e6)} MB, at most 20 MB`, "bad");
      else setFiles([...files(), { name: file.name, mime: file.type || "text/plain", url: await dataUrl(file) }]);
    }
  };

  /** How many prompts back the field shows; it counts only while its text is that of the prompt. */
  let recalled = 0;
  const recall = (step: 1 | -1) => {
    const asked = promptsOf(props.sessionID);
    const isRecalled = recalled > 0 && text() === asked[recalled - 1];
    if (!isRecalled && (text() !== "" || step < 0)) return false;
    const next = (isRecalled ? recalled : 0) + step;
    if (next > asked.length) return false;
    recalled = next;
    field.value = asked[next - 1] ?? "";
    change(field.value);
    return true;
  };

  const key = (event: KeyboardEvent) => {
    if (event.isComposing || event.defaultPrevented) return;
    const step = { ArrowUp: 1, ArrowDown: -1 }[event.key] as 1 | -1 | undefined;
    if (step !== undefined && !event.shiftKey && recall(step)) return event.preventDefault();
    const wantsSend = event.key === "Enter" && (event.ctrlKey || event.metaKey || (!event.shiftKey && !isTouch));
    if (wantsSend) {
      event.preventDefault();
      void submit();
    }
  };

  const stopNow = () => {
    if (props.sessionID === undefined) return;
    setStopping(true);
    void stop(props.sessionID);
  };

  return (
    <div class="composer" classList={{ "is-shell": isShell() }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => { event.preventDefault(); void attach(event.dataTransfer?.files ?? []); }}>
      <Suggestions text={text()} caret={caret()} catalog={catalog()} directory={props.directory ?? info()?.directory} onPick={(value, at) => { field.value = value; change(value); field.focus(); field.setSelectionRange(at, at); setCaret(at); }} />
      <Show when={files().length > 0}>
        <ul class="attached">
          <For each={files()}>
            {(file) => (
              <li class="chip">
                <Icon name={file.mime.startsWith("image/") ? "image" : "file"} />
                <span class="cut">{file.name}</span>
                <button type="button" class="quiet" aria-label={words.removeFile(file.name)} onClick={() => setFiles(files().filter((one) => one !== file))}><Icon name="x" /></button>
              </li>
            )}
          </For>
        </ul>
      </Show>
      <textarea ref={field} rows="1" dir="auto" aria-label={words.prompt} placeholder={busy() ? words.promptBusy : words.prompt}
        onInput={(event) => change(event.currentTarget.value)} onKeyDown={key} onKeyUp={() => setCaret(field.selectionStart)} onClick={() => setCaret(field.selectionStart)}
        onPaste={(event) => { const pasted = [...(event.clipboardData?.files ?? [])]; if (pasted.length > 0) { event.preventDefault(); void attach(pasted); } }} />
      <div class="composer-row">
        <button type="button" class="quiet" aria-label={words.attach} title={words.attach} onClick={() => picker.click()}><Icon name="paperclip" /></button>
        <input ref={picker} type="file" multiple hidden onChange={() => { void attach([...(picker.files ?? [])]); picker.value = ""; }} />
        <Show when={isTouch}>
          <button type="button" class="quiet" aria-label={words.camera} title={words.camera} onClick={() => camera.click()}><Icon name="camera" /></button>
          <input ref={camera} type="file" accept="image/*" capture="environment" hidden onChange={() => { void attach([...(camera.files ?? [])]); camera.value = ""; }} />
        </Show>
        <Choosers catalog={catalog()} model={model() && `${model()?.providerID}/${model()?.modelID}`} agent={picked().agent ?? info()?.agent} variant={picked().variant} onPick={(next) => setPicked({ ...picked(), ...next })} />
        <span class="grow" />
        <Show when={isShell()}><span class="muted small cut">{words.shellHint}</span></Show>
        <Show when={busy()}>
          <button type="button" disabled={isStopping()} onClick={stopNow}><Icon name="square" /> {isStopping() ? words.stopping : words.stop}</button>
        </Show>
        <button type="button" class="primary send" disabled={text().trim() === "" && files().length === 0} onClick={() => void submit()} aria-label={words.send} title={words.send}><Icon name="arrow-up" /></button>
      </div>
    </div>
  );
}

/** What was asked in a session, newest first, as far as it is loaded. */
function promptsOf(sessionID: string | undefined): string[] {
  if (sessionID === undefined) return [];
  const asked = (thread(sessionID)?.order ?? []).filter((id) => message(sessionID, id)?.role === "user");
  const said = (id: string) => partsOf(sessionID, id).map((part) => (part.type === "text" && part.synthetic !== true ? part.text : "")).filter(Boolean).join("\n");
  return asked.map(said).filter((text) => text !== "").reverse();
}

function Choosers(props: {
  catalog: Catalog | undefined;
  model: string | undefined;
  agent: string | undefined;
  variant: string | undefined;
  onPick: (next: { model: string } | { agent: string } | { variant: string }) => void;
}) {
  const variants = () => props.catalog?.models.find((one) => one.key === props.model)?.variants ?? [];
  return (
    <Show when={props.catalog}>
      {(catalog) => (
        <>
          <select class="plain-select" aria-label={words.model} onChange={(event) => props.onPick({ model: event.currentTarget.value })}>
            <For each={catalog().models}>{(one) => <option value={one.key} selected={one.key === props.model}>{one.name}</option>}</For>
          </select>
          <select class="plain-select" aria-label={words.agent} onChange={(event) => props.onPick({ agent: event.currentTarget.value })}>
            <For each={catalog().agents}>{(one) => <option value={one} selected={one === (props.agent ?? "build")}>{one}</option>}</For>
          </select>
          <Show when={variants().length > 0}>
            <select class="plain-select" aria-label={words.variant} onChange={(event) => props.onPick({ variant: event.currentTarget.value })}>
              <option value="" selected={!props.variant}>{words.usual}</option>
              <For each={variants()}>{(one) => <option value={one} selected={one === props.variant}>{one}</option>}</For>
            </select>
          </Show>
        </>
      )}
    </Show>
  );
}

function dataUrl(file: File): Promise<string> {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(String(reader.result));
    reader.onerror = () => failed(reader.error ?? new Error(file.name));
    reader.readAsDataURL(file);
  });
}
