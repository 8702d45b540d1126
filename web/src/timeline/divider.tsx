// Where a conversation was summarised, and why.

import { Icon } from "../kit/icon.tsx";
import { words } from "../words/en.ts";
import type { PartOf } from "../wire/types.ts";

export function compactionWords(part: PartOf<"compaction">): string {
  if (part.overflow === true) return words.compaction.overflow;
  return part.auto ? words.compaction.auto : words.compaction.manual;
}

export function CompactionDivider(props: { part: PartOf<"compaction"> }) {
  const why = () => compactionWords(props.part);
  return (
    <div class="divider" id={props.part.messageID} role="separator" aria-label={why()}>
      <Icon name="scissors" /> {why()}
    </div>
  );
}
