// Where a prompt is written. Nothing typed is ever lost: the draft is kept until the server has stored it.

import { For, Show, createEffect, createMemo, createSignal, lazy, on, onCleanup, onMount } from "solid-js";
import { Guard } from "../kit/guard.tsx";
import { Icon } from "../kit/icon.tsx";
import { showToast } from "../kit/toast.tsx";
import type { NewPart } from "../sync/send.ts";
import { stop } from "../view/actions.ts";
import { draft, keepDraft } from "../view/drafts.ts";
import { api } from "../view/live.ts";
import { type Catalog, catalogAge, chosenModel, loadCatalog } from "../view/catalog.ts";
import { type Choice, backToComposer, sendPrompt, whenDropped } from "../view/prompts.ts";
import { message, session, status, thread } from "../view/store.ts";
import { requestComposer, composerRequest } from "../view/composer-request.ts";
import { partsOf } from "../timeline/turn.tsx";
import { words } from "../words/en.ts";
import { asCallError, segment } from "../wire/api.ts";

// Loaded when there is something to suggest for.
const Suggestions = lazy(() => import("./suggestions.tsx").then((file) => ({ default: file.Suggestions })));

interface Attached {
  readonly name: string;
  readonly mime: string;
  readonly url: string;
}

const DRAWN_MS = 100;

const FILE_BYTES_MAX = 20 * 1024 * 1024;

/** Files of prompts that are not sent yet, by session, as long as the page is open: they are too large for the browser's storage. */
const attachedTo = new Map<string, readonly Attached[]>();
/** Sessions with such files; those attached longest ago go first. */
const ATTACHED_MAX = 20;

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
  let box!: HTMLDivElement;
  let field!: HTMLTextAreaElement;
  let picker!: HTMLInputElement;
  let camera!: HTMLInputElement;

  const busy = () => props.sessionID !== undefined && status(props.sessionID).type !== "idle";
  const isShell = () => text().startsWith("!");
  const info = () => (props.sessionID === undefined ? undefined : session(props.sessionID));
  const model = createMemo(() => chosenModel(catalog(), picked().model, info()));
  /** The session's own, as long as it is there to be chosen. */
  const agent = () => picked().agent ?? catalog()?.agents.find((one) => one === info()?.agent);
  const variant = () => {
    const own = info()?.model;
    return picked().variant ?? (own?.id === model()?.modelID && own?.providerID === model()?.providerID ? own?.variant : undefined);
  };
  /** A command that is on its way: its words are the draft until the server has taken it. */
  let running: string | undefined;
  const isTouch = matchMedia("(pointer: coarse)").matches;

  let isWarned = false;
  const change = (value: string) => {
    setText(value);
    setCaret(field.selectionStart);
    if (!keepDraft(name(), value) && !isWarned) showToast(words.draftNotKept, "bad");
    isWarned = true;
    fit();
  };
  const fit = () => {
    // Its box keeps its height while the field is measured: the conversation above would get the room for a moment, and
    // the browser would move it away from its end.
    box.style.blockSize = `${box.offsetHeight}px`;
    field.style.blockSize = "auto";
    field.style.blockSize = `${Math.min(field.scrollHeight + 2, innerHeight * 0.4)}px`;
    box.style.blockSize = "";
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
    setFiles(attachedTo.get(id) ?? []);
    setPicked({});
    fit();
  }));
  createEffect(on(composerRequest, (wanted) => {
    if (wanted === undefined) return;
    requestComposer(undefined);
    if (!("command" in wanted)) return void setPicked({ ...picked(), ...wanted });
    // What is typed already becomes what the command is given.
    field.value = `/${wanted.command} ${text()}`;
    change(field.value);
    field.focus();
  }));
  createEffect(() => {
    if (!busy()) setStopping(false);
    else if (running !== undefined) dropDraft(running);
  });
  onMount(() => {
    props.ref?.({ put, focus: () => field.focus() });
    whenDropped((sessionID, dropped) => {
      if (sessionID !== props.sessionID) return false;
      put(dropped);
      return true;
    });
    if (!isTouch) field.focus({ preventScroll: true });
    onCleanup(() => whenDropped(() => false));
  });

  // Another directory has other models, agents and commands; so has this one when its settings are read anew.
  createEffect(on(() => [props.directory, catalogAge()] as const, ([where]) => {
    let isLeft = false;
    onCleanup(() => (isLeft = true));
    if (where === undefined) return;
    const load = () => loadCatalog(where).then((found) => isLeft || setCatalog(found), (cause) => showToast(asCallError(cause).message, "bad"));
    // The conversation is drawn before there is a choice of models.
    const timer = setTimeout(load, DRAWN_MS);
    onCleanup(() => clearTimeout(timer));
  }));

  const submit = async () => {
    const said = text().trim();
    const attached = files();
    if (said === "" && attached.length === 0) return;
    const kept = name();
    const id = props.sessionID ?? (await props.create?.());
    if (id === undefined) return;
    const send = await delivery(id, said, attached);
    setText("");
    field.value = "";
    keepFiles(kept, []);
    setFiles([]);
    fit();
    const sent = send();
    // Begun: from here on the prompt itself is kept until it is stored.
    if (sent.isKept) keepDraft(kept, "");
    const isDone = await sent.done;
    // What is typed meanwhile is another draft.
    if ((isDone || kept !== id) && draft(kept).trim() === said) keepDraft(kept, "");
  };
  const dropDraft = (said: string) => {
    if (draft(name()).trim() === said && text() === "") keepDraft(name(), "");
  };

  type Delivery = () => { readonly isKept: boolean; readonly done: Promise<boolean> };

  /** How it is sent; everything that has to be asked for before was. */
  const delivery = async (id: string, said: string, attached: readonly Attached[]): Promise<Delivery> => {
    const choice: Choice = { agent: agent(), model: model(), variant: variant() };
    const sent: NewPart[] = attached.map((file) => ({ type: "file", mime: file.mime, url: file.url, filename: file.name }));
    if (said.startsWith("!") && attached.length === 0) {
      const body = { agent: choice.agent ?? "build", command: said.slice(1).trim(), model: choice.model };
      return () => ({ isKept: false, done: run(id, said, () => api.post(`/session/${segment(id)}/shell`, body)) });
    }
    const command = /^\/(\S+)\s*([\s\S]*)$/.exec(said);
    // Somebody was faster than what says which commands there are.
    const known = command && (catalog() ?? (await loadCatalog(directory()).catch(() => undefined)));
    if (command && known?.commands.some((known) => known.name === command[1])) {
      const chosen = choice.model ? `${choice.model.providerID}/${choice.model.modelID}` : undefined;
      const body = { command: command[1], arguments: command[2] ?? "", agent: choice.agent, model: chosen, variant: choice.variant || undefined, parts: sent };
      return () => ({ isKept: false, done: run(id, said, () => api.post(`/session/${segment(id)}/command`, body)) });
    }
    const named = said.includes("@") ? await namedIn(said) : [];
    const parts: NewPart[] = [...(said === "" ? [] : [{ type: "text" as const, text: said }]), ...named, ...sent];
    return () => ({ isKept: true, done: sendPrompt(id, parts, choice) });
  };
  /** Whoever picked a name has the file already; without it what was typed goes out as it is. */
  const namedIn = (said: string): Promise<NewPart[]> =>
    import("../sync/mentions.ts").then((file) => file.mentionParts(said, { directory: directory(), agents: catalog()?.mentionable ?? [], isThere }), () => []);
  const directory = () => props.directory ?? info()?.directory;
  const isThere = async (path: string) => {
    const search = new URLSearchParams({ query: path, limit: "8" });
    const found = await api.get<string[]>(`/find/file?${search}`, { directory: directory() }).catch(() => []);
    return found.some((one) => one === path || one === `${path}/`);
  };

  /** A shell or a command answers at its end; a failure puts its words back, before what was typed meanwhile. */
  const run = async (id: string, said: string, call: () => Promise<unknown>) => {
    running = said;
    try {
      await call();
      return true;
    } catch (cause) {
      showToast(asCallError(cause).message, "bad");
      giveBack(id, said);
      return false;
    } finally {
      running = undefined;
    }
  };

  const giveBack = (id: string, said: string) => {
    // Another session is open here now, or this was the page of a new one.
    if (props.sessionID !== id) return backToComposer(id, said);
    const typed = text();
    setText("");
    put(typed === "" ? said : `${said}\n${typed}`);
  };

  const attach = async (list: Iterable<File>) => {
    // Somebody may have gone to another session before it is read.
    const to = name();
    for (const file of list) {
      if (file.size > FILE_BYTES_MAX) showToast(words.fileTooLarge(file.name, file.size / 1e6, FILE_BYTES_MAX / 1024 / 1024), "bad");
      else {
        const read = { name: file.name, mime: file.type || "text/plain", url: await dataUrl(file) };
        keepFiles(to, [...(attachedTo.get(to) ?? []), read]);
      }
    }
  };
  const keepFiles = (id: string, list: readonly Attached[]) => {
    attachedTo.delete(id);
    if (list.length > 0) attachedTo.set(id, list);
    for (const oldest of [...attachedTo.keys()].slice(0, -ATTACHED_MAX)) attachedTo.delete(oldest);
    if (id === name()) setFiles(list);
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
    <div ref={box} class="composer" classList={{ "is-shell": isShell() }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => { event.preventDefault(); void attach(event.dataTransfer?.files ?? []); }}>
      <Show when={/(?:^|\s)[@/]/.test(text())}><Guard><Suggestions text={text()} caret={caret()} catalog={catalog()} directory={directory()} onPick={(value, at) => { field.value = value; change(value); field.focus(); field.setSelectionRange(at, at); setCaret(at); }} /></Guard></Show>
      <Show when={files().length > 0}>
        <ul class="attached">
          <For each={files()}>
            {(file) => (
              <li class="chip">
                <Icon name={file.mime.startsWith("image/") ? "image" : "file"} />
                <span class="cut">{file.name}</span>
                <button type="button" class="quiet" aria-label={words.removeFile(file.name)} onClick={() => keepFiles(name(), files().filter((one) => one !== file))}><Icon name="x" /></button>
              </li>
            )}
          </For>
        </ul>
      </Show>
      <textarea ref={field} rows="1" dir="auto" aria-label={words.prompt} placeholder={busy() ? words.promptBusy : words.prompt}
        onInput={(event) => change(event.currentTarget.value)} onKeyDown={key} onKeyUp={() => setCaret(field.selectionStart)} onClick={() => setCaret(field.selectionStart)}
        onPaste={(event) => { const pasted = [...(event.clipboardData?.files ?? [])]; if (pasted.length > 0) { event.preventDefault(); void attach(pasted); } }} />
      <Show when={isShell()}><p class="shell-hint muted small">{words.shellHint}</p></Show>
      <div class="composer-row">
        <button type="button" class="quiet" aria-label={words.attach} title={words.attach} onClick={() => picker.click()}><Icon name="paperclip" /></button>
        <input ref={picker} type="file" multiple hidden onChange={() => { void attach([...(picker.files ?? [])]); picker.value = ""; }} />
        <Show when={isTouch}>
          <button type="button" class="quiet" aria-label={words.camera} title={words.camera} onClick={() => camera.click()}><Icon name="camera" /></button>
          <input ref={camera} type="file" accept="image/*" capture="environment" hidden onChange={() => { void attach([...(camera.files ?? [])]); camera.value = ""; }} />
        </Show>
        <Choosers catalog={catalog()} model={model() && `${model()?.providerID}/${model()?.modelID}`} agent={agent() ?? info()?.agent} variant={variant()} onPick={(next) => setPicked({ ...picked(), ...next })} />
        <span class="grow" />
        <Show when={busy()}>
          <button type="button" disabled={isStopping()} onClick={stopNow}><Icon name="square" /> <span class="stop-word">{isStopping() ? words.stopping : words.stop}</span></button>
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
