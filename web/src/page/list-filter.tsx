// What the list shows: one project, one state, only sessions that changed files, archived ones too. Kept on this device.

import { For, createMemo } from "solid-js";
import { tabs } from "../view/live.ts";
import { type Preferences, prefer, preferences } from "../view/preferences.ts";
import { sessions } from "../view/store.ts";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";
import { type Need, projectName } from "./list.tsx";

/** Whether a turn failed is not known to the list. */
const NEEDS: readonly Need[] = ["asks", "busy", "retry", "unseen", "idle"];

export function ListFilter() {
  const projects = createMemo(() => {
    const names = new Map(sessions().map((one) => [one.projectID, projectName(one)]));
    return [...names].sort(([, a], [, b]) => a.localeCompare(b));
  });
  const change = (next: Partial<Preferences>) => {
    prefer(next);
    tabs.preferences();
  };
  return (
    <div class="list-filter" role="group" aria-label={words.filters(0)}>
      <select aria-label={panelWords.project} onChange={(event) => change({ listProject: event.currentTarget.value })}>
        <option value="" selected={preferences().listProject === ""}>{panelWords.everyProject}</option>
        <For each={projects()}>{([id, name]) => <option value={id} selected={preferences().listProject === id}>{name}</option>}</For>
      </select>
      <select aria-label={panelWords.state} onChange={(event) => change({ listNeed: event.currentTarget.value })}>
        <option value="" selected={preferences().listNeed === ""}>{panelWords.everyState}</option>
        <For each={NEEDS}>{(need) => <option value={need} selected={preferences().listNeed === need}>{words.status[need]}</option>}</For>
      </select>
      <label><input type="checkbox" checked={preferences().listChanged} onChange={(event) => change({ listChanged: event.currentTarget.checked })} /> {panelWords.withChanges}</label>
      <label><input type="checkbox" checked={preferences().showArchived} onChange={(event) => change({ showArchived: event.currentTarget.checked })} /> {panelWords.showArchived}</label>
    </div>
  );
}
