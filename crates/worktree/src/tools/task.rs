//! `task`: gives work to a child session.

use super::ask;
use crate::tool::{Call, Delegated, Done, Task, Tool, ToolFailure, World, map, spec, text};
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use sturdy_session::talk::ToolSpec;

#[derive(Debug)]
pub struct TaskTool(ToolSpec);

#[derive(Deserialize)]
struct Input {
    description: String,
    prompt: String,
    subagent_type: String,
    task_id: Option<String>,
    command: Option<String>,
}

impl TaskTool {
    /// `agents`: name and description of those that can be given work.
    #[must_use]
    pub fn new(agents: &[(String, String)]) -> Self {
        let mut description = include_str!("task.md").trim_end().to_owned();
        description.push_str("\n\nAgents:\n");
        for (name, what) in agents {
            description.push_str(&format!("- {name}: {what}\n"));
        }
        let properties = json!({
            "description": text("The work in three to five words"),
            "prompt": text("The work in full: all that the agent needs to know, and what it should report"),
            "subagent_type": text("The agent to give it to"),
            "task_id": text("The id of an earlier task, to go on with it instead of starting anew"),
            "command": text("The command that led to this task"),
        });
        let required = ["description", "prompt", "subagent_type"];
        Self(spec("task", &description, properties, &required))
    }
}

impl Tool for TaskTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run<'a>(&'a self, call: Call, world: &'a World) -> BoxFuture<'a, Result<Done, ToolFailure>> {
        Box::pin(async move {
            let input: Input = call.decode()?;
            let metadata = json!({ "description": input.description, "subagent_type": input.subagent_type });
            ask::permission(world, "task", &input.subagent_type, map(metadata)).await?;
            let acting = world.act().await?;
            let task = Task {
                call: call.id,
                description: input.description.clone(),
                prompt: input.prompt,
                agent: input.subagent_type,
                resume: input.task_id,
                command: input.command,
            };
            // Stopped by whoever runs the child: its session has to be told, not just forgotten.
            let Delegated { session, text, metadata } = (world.handles.task)(acting, task).await?;
            let output = format!(
                "<task id=\"{session}\" state=\"completed\">\n<task_result>\n{text}\n</task_result>\n</task>"
            );
            Ok(Done::new(input.description, output, Value::Object(metadata)))
        })
    }
}
