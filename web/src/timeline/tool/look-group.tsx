// Several calls that only looked around, folded into one line.

import { For, createMemo } from "solid-js";
import { Fold } from "../../kit/fold.tsx";
import { Icon } from "../../kit/icon.tsx";
import { part } from "../../view/store.ts";
import { words } from "../../words/en.ts";
import type { ToolPart } from "../../wire/types.ts";
import { PartAnchor } from "../part/anchor.tsx";
import { ToolCard } from "./tool.tsx";

export function LookGroup(props: { sessionID: string; ids: readonly string[] }) {
  const parts = createMemo(() => props.ids.map((id) => part(props.sessionID, id)).filter((found): found is ToolPart => found?.type === "tool"));
  const files = () => parts().filter((found) => found.tool === "read" || found.tool === "list").length;
  return (
    <Fold class="card tool look" summary={
      <>
        <Icon name="search" />
        <span class="grow">{words.tool.looked(files(), parts().length - files())}</span>
        <Icon name="chevron-down" class="muted" />
      </>
    }>
      <div class="card-body">
        <For each={props.ids}>
          {(id) => {
            const found = () => part(props.sessionID, id);
            return <PartAnchor parts={[id]}>{found()?.type === "tool" ? <ToolCard part={found() as ToolPart} /> : null}</PartAnchor>;
          }}
        </For>
      </div>
    </Fold>
  );
}
