// What can be done with one message.

import { Menu, MenuItem } from "../kit/menu.tsx";
import { forkAt } from "../view/actions.ts";
import { setUndoing } from "../view/undo.ts";
import { words } from "../words/en.ts";

export function MessageMenu(props: { sessionID: string; messageID: string }) {
  if (READ_ONLY) return null;
  return (
    <Menu label={words.more} icon="ellipsis">
      <MenuItem icon="undo-2" onPick={() => setUndoing({ sessionID: props.sessionID, messageID: props.messageID })}>{words.undoHere}</MenuItem>
      <MenuItem icon="git-fork" onPick={() => void forkAt(props.sessionID, props.messageID)}>{words.forkHere}</MenuItem>
    </Menu>
  );
}
