//! Facts and effects in short words, for stories that are compared as a whole.

use sturdy_session::fact::{Fact, Outcome, Posted};
use sturdy_session::turn::{Effect, NeedAnswer, Tools};
use sturdy_session::types::delivery::Delivery;
use sturdy_session::types::failure::Failure;
use sturdy_session::types::part::{Part, PartBody};

pub(crate) fn detail(fact: &Fact) -> String {
    match fact {
        Fact::SessionEdited { edit } => {
            let text = format!("{edit:?}");
            text.split([' ', '{']).next().unwrap_or_default().to_owned()
        }
        Fact::MessageAdded { posted }
        | Fact::CompactionWanted { posted, .. }
        | Fact::ShellStarted { posted, .. } => posted_detail(posted),
        Fact::PromptAdmitted { posted, begins, delivery, held, .. } => {
            let begins = if *begins { ", a turn begins" } else { "" };
            let queues = if *delivery == Delivery::Queue { ", queues" } else { "" };
            let held = if *held { ", is held" } else { "" };
            format!("{}{queues}{held}{begins}", posted_detail(posted))
        }
        Fact::PromptFailed { messages } => format!("{}", messages.len()),
        Fact::StepStarted { takes, .. } if takes.is_empty() => String::new(),
        Fact::StepStarted { takes, .. } => format!("takes {}", takes.len()),
        Fact::PartWritten { part } => part_detail(part),
        Fact::TextEnded { text, .. } => format!("{text:?}"),
        Fact::ToolCalled { call, tool, .. } => match call.len() {
            // A call the server makes has an id of its own making.
            26 => format!("ULID {tool}"),
            _ => format!("{call} {tool}"),
        },
        Fact::TextStarted { block, words, .. } => format!("{block} {words:?}"),
        Fact::TextGrew { delta, .. } => format!("{delta:?}"),
        Fact::StepFinished { reason, cost, .. } => format!("{} cost {}", reason.as_str(), cost.0),
        Fact::StepDelayed { attempt, reason, note, .. } => {
            let note = if note.is_some() { ", noted" } else { "" };
            format!("{attempt} {reason:?}{note}")
        }
        Fact::StepEnded { error, .. } => error.as_ref().map(failure_name).unwrap_or_default(),
        Fact::ModelFinished { reason, .. } => reason.as_str().to_owned(),
        Fact::ToolStarted { tool, .. } => tool.clone(),
        Fact::ToolEnded { outcome, .. } => outcome_name(outcome).to_owned(),
        Fact::SessionFailed { error } => failure_name(error),
        Fact::SessionIdled { end } => format!("{end:?}").to_lowercase(),
        Fact::PermissionReplied { reply, .. } => format!("{reply:?}"),
        _ => String::new(),
    }
}

fn posted_detail(posted: &Posted) -> String {
    posted.parts.iter().map(part_detail).collect::<Vec<_>>().join(", ")
}

fn part_detail(part: &Part) -> String {
    match &part.body {
        PartBody::Text(text) => format!("text {:?}", text.text),
        PartBody::Reasoning(reasoning) => format!("reasoning {:?}", reasoning.text),
        // A call the server makes has an id of its own making.
        PartBody::Tool(tool) if tool.call_id.len() == 26 => format!("ULID {}", tool.tool),
        PartBody::Tool(tool) => format!("{} {}", tool.call_id, tool.tool),
        PartBody::Subtask(subtask) => format!("subtask {:?}", subtask.description),
        PartBody::StepStart(_) => "step-start".to_owned(),
        PartBody::StepFinish(finish) => format!("step-finish {}", finish.reason.as_str()),
        PartBody::Retry(retry) => format!("retry {}", retry.attempt),
        other => format!("{other:?}"),
    }
}

fn outcome_name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Done { .. } => "done",
        Outcome::Failed { .. } => "failed",
        Outcome::Blocked { .. } => "blocked",
        Outcome::Interrupted { .. } => "interrupted",
    }
}

fn failure_name(failure: &Failure) -> String {
    let value = serde_json::to_value(failure).expect("a failure is JSON");
    value["name"].as_str().unwrap_or_default().to_owned()
}

pub(crate) fn name_of(effect: &Effect) -> String {
    match effect {
        Effect::CallModel { attempt, tools: Tools::Withheld, .. } => {
            format!("CallModel attempt {attempt}, no tools")
        }
        Effect::CallModel { attempt, .. } => format!("CallModel attempt {attempt}"),
        Effect::StartTimer { attempt, .. } => format!("StartTimer attempt {attempt}"),
        Effect::RunTool(run) if run.repeated => format!("RunTool {} repeated", run.tool),
        Effect::RunTool(run) if run.by_user => format!("RunTool {} by the user", run.tool),
        Effect::RunTool(run) => format!("RunTool {}", run.tool),
        Effect::AnswerTool { answer, .. } => format!("AnswerTool {}", answer_name(answer)),
        Effect::ResumeTool { answer, .. } => format!("ResumeTool {}", answer_name(answer)),
        other => {
            let text = format!("{other:?}");
            text.split([' ', '{']).next().unwrap_or_default().to_owned()
        }
    }
}

fn answer_name(answer: &NeedAnswer) -> &'static str {
    match answer {
        NeedAnswer::Allowed => "allowed",
        NeedAnswer::Answers(_) => "answers",
        NeedAnswer::Denied(_) => "denied",
        NeedAnswer::Rejected(_) => "rejected",
        NeedAnswer::Dismissed => "dismissed",
    }
}

pub(crate) fn without_ids(text: &str) -> String {
    text.split(' ')
        .map(|word| if word.starts_with("msg_") { "MSG" } else { word })
        .collect::<Vec<_>>()
        .join(" ")
}
