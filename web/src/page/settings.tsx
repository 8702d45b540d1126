// Settings of this page, and what there is to know about the server.

import { For, Show, createEffect, createSignal, onMount } from "solid-js";
import { ProcessList } from "../dock/processes.tsx";
import { everySecond, useSeconds } from "../kit/ticking.tsx";
import { key } from "../sync/world.ts";
import { toastOnFailure } from "../view/actions.ts";
import { api, hello, line, server, serverNow, tabs } from "../view/live.ts";
import { type Preferences, prefer, preferences } from "../view/preferences.ts";
import { askForNotices, canNotify, startNotices, stopNotices } from "../view/notices.ts";
import { track, trackHints, world } from "../view/store.ts";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";
import { LinkBox } from "../panel/link-box.tsx";
import { McpServers } from "./mcp-servers.tsx";
import { ShortcutList } from "./shortcut-list.tsx";
import { Tokens } from "./tokens.tsx";
import { browserName } from "../wire/actors.ts";
import { segment } from "../wire/api.ts";
import type { BackgroundProcess } from "../wire/types.ts";

interface Device {
  readonly id: string;
  readonly label: string;
  readonly seen: number;
}
interface Approval {
  readonly id: string;
  readonly action: string;
  readonly resource: string;
}

/** Written by the build, beside the page. */
const LICENSES = "./licenses.txt";

/** Names of this machine that no other machine knows it by. */
const LOOPBACK = /^(localhost|127\.[\d.]+|\[::1\])$/;

export function SettingsPage() {
  useSeconds();
  const [approvals, setApprovals] = createSignal<readonly Approval[]>([]);
  const [devices, setDevices] = createSignal<readonly Device[]>([]);
  const [code, setCode] = createSignal("");
  const [languages, setLanguages] = createSignal<readonly { readonly name: string; readonly status: string }[]>([]);
  const [running, setRunning] = createSignal<readonly BackgroundProcess[]>();
  const readRunning = () => void api.get<readonly BackgroundProcess[]>("/sturdy/process").then(setRunning, () => {});
  createEffect(() => {
    track(key.hint("sturdy.processes"));
    readRunning();
  });
  createEffect(() => {
    trackHints("lsp.updated");
    void api.get<readonly { name: string; status: string }[]>("/lsp").then(setLanguages, () => {});
  });
  const readDevices = () => void api.get<Device[]>("/sturdy/devices").then(setDevices, () => {});
  const [providers, setProviders] = createSignal<readonly string[]>([]);
  const readApprovals = () => void api.get<{ data?: Approval[] } | Approval[]>("/api/permission/saved").then((found) => setApprovals(Array.isArray(found) ? found : (found.data ?? [])), () => {});
  onMount(() => {
    readApprovals();
    readDevices();
    void api.get<{ providers: { name: string }[] }>("/config/providers").then((found) => setProviders(found.providers.map((one) => one.name)), () => {});
  });
  const invite = () => void toastOnFailure(async () => setCode(`${location.origin}/login#once=${(await api.post<{ code: string }>("/sturdy/login/code")).code}`));
  const logout = () => void toastOnFailure(async () => {
    await api.post("/sturdy/logout");
    tabs.logout();
    localStorage.clear();
    line.lock();
  });
  /** Takes something away, and reads again what is left. */
  const drop = (path: string, read: () => void) => void toastOnFailure(() => api.call(path, { method: "DELETE" })).then(read);
  const change = (next: Partial<Preferences>) => {
    prefer(next);
    tabs.preferences();
  };
  return (
    <main class="page settings" id="main" aria-label={words.settings}>
      <h1>{words.settings}</h1>
      <section>
        <h2>{panelWords.pageTitle}</h2>
        <label class="setting">
          <span class="grow">{panelWords.theme}</span>
          <select onChange={(event) => change({ theme: event.currentTarget.value as Preferences["theme"] })}>
            <For each={["system", "light", "dark"] as const}>{(theme) => <option value={theme} selected={preferences().theme === theme}>{panelWords.themes[theme]}</option>}</For>
          </select>
        </label>
        <label class="setting">
          <span class="grow">{panelWords.textSize}</span>
          <select onChange={(event) => change({ textSize: event.currentTarget.value as Preferences["textSize"] })}>
            <For each={["usual", "large", "larger"] as const}>{(size) => <option value={size} selected={preferences().textSize === size}>{panelWords.textSizes[size]}</option>}</For>
          </select>
        </label>
        <Toggle label={panelWords.showEverything} value={preferences().showEverything} onChange={(showEverything) => change({ showEverything })} />
        <Toggle label={panelWords.showArchived} value={preferences().showArchived} onChange={(showArchived) => change({ showArchived })} />
        <NoticeSwitch onChange={(notices) => change({ notices })} />
        <Toggle label={panelWords.stopsOnLeaving} value={preferences().stopsOnLeaving} onChange={(stopsOnLeaving) => change({ stopsOnLeaving })} />
        <Toggle label={panelWords.letterKeys} value={preferences().letterKeys} onChange={(letterKeys) => change({ letterKeys })} />
      </section>
      <ShortcutList onChange={(keys) => change({ keys })} />
      <section>
        <h2>{panelWords.serverTitle}</h2>
        <dl class="numbers">
          <dt>{panelWords.version}</dt><dd>{server()?.version}</dd>
          <dt>{panelWords.directory}</dt><dd><code>{server()?.directory}</code></dd>
          <dt>{panelWords.position}</dt><dd class="num">{everySecond() >= 0 && words.number(world.head.position)}</dd>
          <Show when={hello()}>{(said) => <><dt>{panelWords.horizon}</dt><dd class="num">{words.number(said().horizon)}</dd><dt>{panelWords.store}</dt><dd><code>{said().store}</code></dd></>}</Show>
          <dt>{panelWords.providers}</dt><dd>{providers().join(", ")}</dd>
          <Show when={languages().length > 0}><dt>{panelWords.languages}</dt><dd>{languages().map((one) => `${one.name} (${one.status})`).join(", ")}</dd></Show>
        </dl>
        <Show when={running() !== undefined}>
          <h2>{panelWords.backgroundAll}</h2>
          <Show when={(running()?.length ?? 0) > 0} fallback={<p class="muted small">{panelWords.backgroundNone}</p>}><ProcessList processes={running() ?? []} /></Show>
        </Show>
      </section>
      <McpServers />
      <section>
        <h2>{panelWords.approvals}</h2>
        <ul class="approvals">
          <For each={approvals()} fallback={<li class="muted">{panelWords.noApprovals}</li>}>
            {(one) => (
              <li>
                <code class="grow cut">{one.action} {one.resource}</code>
                <button type="button" onClick={() => drop(`/api/permission/saved/${segment(one.id)}`, readApprovals)}>{panelWords.takeBack}</button>
              </li>
            )}
          </For>
        </ul>
      </section>
      <section>
        <h2>{panelWords.devices}</h2>
        <ul class="approvals">
          <For each={devices()} fallback={<li class="muted">{panelWords.noDevices}</li>}>
            {(one) => (
              <li>
                <span class="grow cut small" title={one.label}>{browserName(one.label)}</span>
                <span class="muted small num">{words.ago(one.seen, serverNow())}</span>
                <button type="button" onClick={() => drop(`/sturdy/devices/${segment(one.id)}`, readDevices)}>{panelWords.logout}</button>
              </li>
            )}
          </For>
        </ul>
        <div class="dialog-buttons">
          <button type="button" onClick={invite}>{panelWords.invite}</button>
          <Show when={devices().length > 0}><button type="button" onClick={logout}>{panelWords.logoutHere}</button></Show>
        </div>
        <Show when={code() !== ""}><p class="small">{panelWords.inviteHint}</p><Show when={LOOPBACK.test(location.hostname)}><p class="warn small">{panelWords.inviteLoopback}</p></Show><LinkBox url={code()} label={panelWords.invite} /></Show>
      </section>
      <Tokens />
      <p class="muted small"><a href={new URL(LICENSES, import.meta.url).pathname} target="_blank" rel="noopener">{panelWords.licenses}</a></p>
    </main>
  );
}

function NoticeSwitch(props: { onChange: (value: boolean) => void }) {
  const [isRefused, setRefused] = createSignal(false);
  const turn = async (isWanted: boolean) => {
    const isOn = isWanted && (await askForNotices());
    setRefused(isWanted && !isOn);
    props.onChange(isOn);
    if (isOn) startNotices();
    else stopNotices();
  };
  return (
    <>
      <Toggle label={panelWords.notices} value={preferences().notices} isOff={!canNotify()} onChange={(isWanted) => void turn(isWanted)} />
      <p class="muted small">{canNotify() ? panelWords.noticesHint : panelWords.noticesInsecure}</p>
      <Show when={isRefused()}><p class="bad small" role="alert">{panelWords.noticesRefused}</p></Show>
    </>
  );
}

function Toggle(props: { label: string; value: boolean; isOff?: boolean; onChange: (value: boolean) => void }) {
  return (
    <label class="setting">
      <span class="grow">{props.label}</span>
      <input type="checkbox" checked={props.value} disabled={props.isOff} onChange={(event) => props.onChange(event.currentTarget.checked)} />
    </label>
  );
}
