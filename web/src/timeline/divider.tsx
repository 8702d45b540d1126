// Where a conversation was summarised, and from where on the model sees everything.

import { Icon } from "../kit/icon.tsx";
import { words } from "../words/en.ts";
import type { PartOf } from "../wire/types.ts";

export function CompactionDivider(props: { part: PartOf<"compaction"> }) {
  const why = () => {
    if (props.part.overflow === true) return words.compaction.overflow;
    return props.part.auto ? words.compaction.auto : words.compaction.manual;
  };
  return (
    <div class="divider" id={props.part.messageID} role="separator" aria-label={why()}>
      <Icon name="scissors" /> {why()}
      <span class="muted small">{words.compactionTail}</span>
    </div>
  );
}
