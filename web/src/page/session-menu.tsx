// The menu of a session. What is in it is loaded when it is opened: a list has one for every row.

import { Show, createSignal, lazy } from "solid-js";
import { Menu } from "../kit/menu.tsx";
import { words } from "../words/en.ts";
import type { Session } from "../wire/types.ts";

export type SessionDialogName = "rename" | "redact" | "remove";

const SessionItems = lazy(() => import("./session-items.tsx").then((file) => ({ default: file.SessionItems })));
const SessionDialog = lazy(() => import("./session-items.tsx").then((file) => ({ default: file.SessionDialog })));

export function SessionMenu(props: { session: Session }) {
  const [dialog, setDialog] = createSignal<SessionDialogName>();
  return (
    <>
      <Menu label={`${words.menu}: ${props.session.title}`} icon="ellipsis"><SessionItems session={props.session} onDialog={setDialog} /></Menu>
      <Show when={dialog()} keyed>{(name) => <SessionDialog name={name} session={props.session} onClose={() => setDialog(undefined)} />}</Show>
    </>
  );
}
