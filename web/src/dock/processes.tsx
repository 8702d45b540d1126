// What commands left running: the command, for how long, what it printed, and a way to stop it.

import { For, Show, createSignal } from "solid-js";
import { Fold } from "../kit/fold.tsx";
import { Icon } from "../kit/icon.tsx";
import { Ticking } from "../kit/ticking.tsx";
import { showToast } from "../kit/toast.tsx";
import { Output } from "../timeline/tool/output.tsx";
import { isStopping, readOutput, stopProcess } from "../view/processes.ts";
import { asCallError } from "../wire/api.ts";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";
import type { BackgroundProcess } from "../wire/types.ts";

export function ProcessDock(props: { processes: readonly BackgroundProcess[] }) {
  return (
    <section class="dock processes" aria-label={panelWords.background(props.processes.length)}>
      <Fold summary={<><Icon name="terminal" /> <span class="grow">{panelWords.background(props.processes.length)}</span></>}>
        <ProcessList processes={props.processes} />
      </Fold>
    </section>
  );
}

export function ProcessList(props: { processes: readonly BackgroundProcess[] }) {
  return <ul class="process-list"><For each={props.processes}>{(one) => <ProcessRow process={one} />}</For></ul>;
}

function ProcessRow(props: { process: BackgroundProcess }) {
  const [output, setOutput] = createSignal<string>();
  const failed = (cause: unknown) => showToast(asCallError(cause).message, "bad");
  const read = () => void readOutput(props.process).then(setOutput, failed);
  return (
    <li data-process={props.process.id}>
      <code class="command grow" dir="ltr">{props.process.command}</code>
      <span class="muted tiny num"><Show when={props.process.user}>{panelWords.backgroundYours} · </Show><Ticking since={props.process.time} /></span>
      <button type="button" class="quiet" onClick={read}>{output() === undefined ? panelWords.backgroundOutput : panelWords.backgroundAgain}</button>
      <button type="button" disabled={isStopping(props.process)} onClick={() => void stopProcess(props.process).catch(failed)}><Icon name="square" /> {isStopping(props.process) ? words.stopping : words.stop}</button>
      <Show when={output() !== undefined}><div class="process-output"><Show when={output() !== ""} fallback={<p class="muted small">{panelWords.backgroundQuiet}</p>}><Output text={output() ?? ""} isGrowing={false} /></Show></div></Show>
    </li>
  );
}
