//! Random values of the larger types: what is printed reads back, with and without each
//! optional field.

use crate::wire::{print, read};
use proptest::prelude::*;
use serde_json::Value;
use sturdy_session::id::{MessageId, PartId, SessionId};
use sturdy_session::json::{Map, Num};
use sturdy_session::talk::FinishReason;
use sturdy_session::types::diff::{FileDiff, FileStatus};
use sturdy_session::types::failure::{ApiFailure, Failure};
use sturdy_session::types::message::{AssistantMessage, AssistantRole, AssistantTime, Message, MessagePath};
use sturdy_session::types::part::*;
use sturdy_session::types::session::{Revert, Session, SessionModel, SessionSummary, SessionTime, Share};
use sturdy_session::types::tool::{Attachment, CallStart, CallTime, CompletedCallTime, FileTag, ToolState};
use sturdy_session::types::usage::{CacheTokens, Tokens};

type Any<T> = BoxedStrategy<T>;

fn words() -> Any<String> {
    prop_oneof!["\\PC{0,12}", any::<String>(), Just("\u{0}\"\\\u{7f}\u{2028}😀/".to_owned())].boxed()
}

fn perhaps<T: std::fmt::Debug + 'static>(some: impl Strategy<Value = T> + 'static) -> Any<Option<T>> {
    prop::option::of(some).boxed()
}

fn millis() -> Any<u64> {
    (0_u64..1 << 53).boxed()
}

fn num() -> Any<Num> {
    let finite = any::<f64>().prop_filter("finite", |value| value.is_finite());
    prop_oneof![finite, (0_u32..100_000).prop_map(f64::from), (0.0..0.001)].prop_map(Num).boxed()
}

fn value() -> Any<Value> {
    let leaf =
        prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), words().prop_map(Value::from)];
    let leaf = prop_oneof![leaf, any::<i64>().prop_map(Value::from), any::<u64>().prop_map(Value::from)];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from);
        prop_oneof![
            list,
            prop::collection::vec((words(), inner), 0..4).prop_map(|pairs| pairs.into_iter().collect())
        ]
    })
    .boxed()
}

fn map() -> Any<Map> {
    prop::collection::vec((words(), value()), 0..4).prop_map(|pairs| pairs.into_iter().collect()).boxed()
}

fn ids() -> Any<(PartId, SessionId, MessageId)> {
    "[0-9a-zA-Z]{26}"
        .prop_map(|tail| {
            (
                PartId::parse(&format!("prt_{tail}")).unwrap(),
                SessionId::parse(&format!("ses_{tail}")).unwrap(),
                MessageId::parse(&format!("msg_{tail}")).unwrap(),
            )
        })
        .boxed()
}

fn tokens() -> Any<Tokens> {
    (perhaps(num()), [num(), num(), num(), num(), num()])
        .prop_map(|(total, [input, output, reasoning, read, write])| Tokens {
            total,
            input,
            output,
            reasoning,
            cache: CacheTokens { read, write },
        })
        .boxed()
}

fn api_failure() -> Any<ApiFailure> {
    let names = || prop::collection::btree_map(words(), words(), 0..3);
    (words(), perhaps(any::<u16>()), any::<bool>(), perhaps(names()), perhaps(words()), perhaps(names()))
        .prop_map(|(message, status_code, is_retryable, response_headers, response_body, metadata)| {
            ApiFailure { message, status_code, is_retryable, response_headers, response_body, metadata }
        })
        .boxed()
}

fn failure() -> Any<Failure> {
    prop_oneof![
        (words(), words()).prop_map(|(provider_id, message)| Failure::ProviderAuth { provider_id, message }),
        (words(), perhaps(words())).prop_map(|(message, reference)| Failure::Unknown { message, reference }),
        Just(Failure::OutputLength(Default::default())),
        Just(Failure::aborted()),
        (words(), any::<u32>()).prop_map(|(message, retries)| Failure::StructuredOutput { message, retries }),
        (words(), perhaps(words()))
            .prop_map(|(message, response_body)| Failure::ContextOverflow { message, response_body }),
        words().prop_map(|message| Failure::ContentFilter { message }),
        api_failure().prop_map(Failure::Api),
    ]
    .boxed()
}

fn file() -> Any<FilePart> {
    let range = [millis(), millis(), millis(), millis()].prop_map(|[a, b, c, d]| Range {
        start: TextPoint { line: a, character: b },
        end: TextPoint { line: c, character: d },
    });
    let kind = prop_oneof![
        words().prop_map(|path| FileSourceKind::File { path }),
        (words(), range, words(), any::<u32>())
            .prop_map(|(path, range, name, kind)| FileSourceKind::Symbol { path, range, name, kind }),
        (words(), words()).prop_map(|(client_name, uri)| FileSourceKind::Resource { client_name, uri }),
    ];
    let source = (words(), num(), num(), kind)
        .prop_map(|(value, start, end, kind)| FileSource { text: SourceText { value, start, end }, kind });
    (words(), perhaps(words()), words(), perhaps(source))
        .prop_map(|(mime, filename, url, source)| FilePart { mime, filename, url, source })
        .boxed()
}

fn tool_state() -> Any<ToolState> {
    let attachment = (ids(), file()).prop_map(|((id, session_id, message_id), file)| Attachment {
        id,
        session_id,
        message_id,
        kind: FileTag::File,
        file,
    });
    let attachments = perhaps(prop::collection::vec(attachment, 0..2));
    let completed = (map(), words(), words(), map(), (millis(), millis(), perhaps(millis())), attachments);
    prop_oneof![
        (map(), words()).prop_map(|(input, raw)| ToolState::Pending { input, raw }),
        (map(), perhaps(words()), perhaps(map()), millis()).prop_map(|(input, title, metadata, start)| {
            ToolState::Running { input, title, metadata, time: CallStart { start } }
        }),
        completed.prop_map(|(input, output, title, metadata, (start, end, compacted), attachments)| {
            ToolState::Completed {
                input,
                output,
                title,
                metadata,
                time: CompletedCallTime { start, end, compacted },
                attachments,
            }
        }),
        (map(), words(), perhaps(map()), millis(), millis(), perhaps(words())).prop_map(
            |(input, error, metadata, start, end, raw)| {
                ToolState::Error { input, error, metadata, time: CallTime { start, end }, raw }
            }
        ),
    ]
    .boxed()
}

fn spoken_part() -> Any<PartBody> {
    let span = || (millis(), perhaps(millis())).prop_map(|(start, end)| Span { start, end });
    let flag = || perhaps(any::<bool>());
    let text = (words(), flag(), flag(), perhaps(span()), perhaps(map())).prop_map(
        |(text, synthetic, ignored, time, metadata)| TextPart { text, synthetic, ignored, time, metadata },
    );
    let model = (words(), words()).prop_map(|(provider_id, model_id)| SubtaskModel { provider_id, model_id });
    let subtask = (words(), words(), words(), perhaps(model), perhaps(words())).prop_map(
        |(prompt, description, agent, model, command)| SubtaskPart {
            prompt,
            description,
            agent,
            model,
            command,
        },
    );
    let source =
        (words(), millis(), millis()).prop_map(|(value, start, end)| AgentSource { value, start, end });
    prop_oneof![
        text.prop_map(PartBody::Text),
        subtask.prop_map(PartBody::Subtask),
        (words(), perhaps(map()), span())
            .prop_map(|(text, metadata, time)| PartBody::Reasoning(ReasoningPart { text, metadata, time })),
        file().prop_map(PartBody::File),
        (words(), perhaps(source)).prop_map(|(name, source)| PartBody::Agent(AgentPart { name, source })),
    ]
    .boxed()
}

fn body() -> Any<PartBody> {
    let finish = (reason(), perhaps(words()), num(), tokens())
        .prop_map(|(reason, snapshot, cost, tokens)| StepFinishPart { reason, snapshot, cost, tokens });
    let retry = (any::<u32>(), api_failure(), millis()).prop_map(|(attempt, error, created)| {
        PartBody::Retry(RetryPart { attempt, error: RetryError::Api(error), time: Created { created } })
    });
    let tail = perhaps(ids().prop_map(|ids| ids.2));
    prop_oneof![
        5 => spoken_part(),
        3 => (words(), words(), tool_state(), perhaps(map())).prop_map(|(call_id, tool, state, metadata)| {
            PartBody::Tool(ToolPart { call_id, tool, state, metadata })
        }),
        1 => perhaps(words()).prop_map(|snapshot| PartBody::StepStart(StepStartPart { snapshot })),
        1 => finish.prop_map(PartBody::StepFinish),
        1 => words().prop_map(|snapshot| PartBody::Snapshot(SnapshotPart { snapshot })),
        1 => (words(), prop::collection::vec(words(), 0..3))
            .prop_map(|(hash, files)| PartBody::Patch(PatchPart { hash, files, shared: Vec::new() })),
        1 => retry,
        1 => (any::<bool>(), perhaps(any::<bool>()), tail).prop_map(|(auto, overflow, tail_start_id)| {
            PartBody::Compaction(CompactionPart { auto, overflow, tail_start_id })
        }),
    ]
    .boxed()
}

fn diffs() -> Any<Vec<FileDiff>> {
    let status = prop_oneof![Just(FileStatus::Added), Just(FileStatus::Deleted), Just(FileStatus::Modified)];
    let diff = (perhaps(words()), perhaps(words()), num(), num(), perhaps(status)).prop_map(
        |(file, patch, additions, deletions, status)| FileDiff { file, patch, additions, deletions, status },
    );
    prop::collection::vec(diff, 0..3).boxed()
}

fn reason() -> impl Strategy<Value = FinishReason> {
    prop_oneof![
        Just(FinishReason::Stop),
        Just(FinishReason::Length),
        Just(FinishReason::ToolCalls),
        Just(FinishReason::ContentFilter),
        Just(FinishReason::Error),
        Just(FinishReason::Unknown),
    ]
}

prop_compose! {
    fn assistant()(
        (_, session_id, id) in ids(), (created, completed) in (millis(), perhaps(millis())),
        error in perhaps(failure()), [model_id, provider_id, mode, agent, cwd, root] in [words(), words(), words(), words(), words(), words()],
        summary in perhaps(any::<bool>()), cost in num(), tokens in tokens(),
        // A null would read back as nothing at all, which is what it means.
        structured in perhaps(map().prop_map(Value::Object)), (variant, finish) in (perhaps(words()), perhaps(reason())),
    ) -> Message {
        let time = AssistantTime { created, completed };
        let parent_id = id.clone();
        let role = AssistantRole::Assistant;
        let path = MessagePath { cwd, root };
        Message::Assistant(Box::new(AssistantMessage {
            id, session_id, role, time, error, parent_id, model_id, provider_id, mode, agent, path, summary, cost,
            tokens, structured, variant, finish,
        }))
    }
}

prop_compose! {
    fn session()(
        (part_id, id, message_id) in ids(), [slug, project_id, directory, title, version] in [words(), words(), words(), words(), words()],
        path in perhaps(words()), parent_id in perhaps(ids().prop_map(|ids| ids.1)),
        summary in perhaps((num(), num(), num(), perhaps(diffs()))), cost in num(), tokens in tokens(),
        share in perhaps(words().prop_map(|url| Share { url })), agent in perhaps(words()),
        model in perhaps((words(), words(), perhaps(words()))), metadata in perhaps(map()),
        time in (millis(), millis(), perhaps(millis()), perhaps(num())),
        revert in perhaps((any::<bool>(), perhaps(words()), perhaps(words()))),
    ) -> Session {
        let (created, updated, compacting, archived) = time;
        Session {
            id, slug, project_id, workspace_id: None, directory, path, parent_id,
            summary: summary.map(|(additions, deletions, files, diffs)| SessionSummary { additions, deletions, files, diffs }),
            cost, tokens, share, title, agent,
            model: model.map(|(id, provider_id, variant)| SessionModel { id, provider_id, variant }),
            version, metadata, time: SessionTime { created, updated, compacting, archived }, permission: None,
            revert: revert.map(|(whole, snapshot, diff)| Revert {
                message_id, part_id: (!whole).then_some(part_id), snapshot, diff, conflicts: Vec::new(), uncaptured: Vec::new(),
                forced: Vec::new(), files_from: None,
            }),
        }
    }
}

proptest! {
    #[test]
    fn any_part_reads_back(((id, session_id, message_id), body) in (ids(), body())) {
        let part = Part { id, session_id, message_id, body };
        let text = print(&part);

        prop_assert_eq!(&read::<Part>(&text), &part);
        prop_assert_eq!(serde_json::from_value::<Part>(serde_json::to_value(&part).unwrap()).unwrap(), part);
    }

    #[test]
    fn any_assistant_message_reads_back(message in assistant()) {
        prop_assert_eq!(read::<Message>(&print(&message)), message);
    }

    #[test]
    fn any_session_reads_back(session in session()) {
        prop_assert_eq!(read::<Session>(&print(&session)), session);
    }
}
