//! The words of `demo/story`.

pub(super) const PLAN: &str = "A story needs somebody who wants something, and something in the way. \
    A lighthouse keeper, then, and a logbook; and a storm that does not care about either.";

const PARAGRAPHS: [&str; 6] = [
    "The keeper of the lighthouse at Gull Stone wrote everything down. When a ship passed she wrote its name, \
     and when none passed she wrote that too, because a gap in a logbook is a question nobody can answer later.",
    "She wrote first and acted second. \"Lamp to be lit,\" said the book, and only then did she climb the stairs. \
     Her brother, who kept the light across the bay, laughed at this. He lit his lamp first and remembered the \
     writing when the kettle had boiled.",
    "In the autumn a storm came up faster than the gulls could complain. It took the roof of the boathouse, \
     the door of the goat shed, and at half past two in the night it took the keeper's candle.",
    "In the dark she could not know what she had done and what she had only meant to do. So she felt for the book, \
     ran a finger along the last wet line, and read: \"Oil filled. Wick trimmed. Lamp to be lit.\" She climbed, and \
     found the lamp cold, and lit it.",
    "Across the bay her brother stood before his own lamp and his empty page, and argued with himself until the \
     morning about whether the oil had been filled once or twice.",
    "The ship that came in at dawn was called the Patience. The keeper wrote down its name, dried the page at the \
     stove, and went to bed. The book lay open where she had left it, ready for whoever would come next.",
];

/// A story of so many paragraphs; a longer one goes round again.
pub(super) fn tell(paragraphs: usize) -> String {
    let told = PARAGRAPHS.iter().cycle().take(paragraphs.max(1));
    told.copied().collect::<Vec<_>>().join("\n\n")
}
