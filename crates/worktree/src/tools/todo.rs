//! `todowrite`: the list of things to do, kept with the session.

use super::ask;
use crate::tool::{Call, Done, Tool, ToolFailure, World, spec, text};
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use sturdy_session::talk::ToolSpec;
use sturdy_session::types::todo::Todo;

#[derive(Debug)]
pub struct TodoWrite(ToolSpec);

#[derive(Deserialize)]
struct Input {
    todos: Vec<Todo>,
}

impl TodoWrite {
    #[must_use]
    #[allow(clippy::new_without_default, reason = "a tool is made once, by name")]
    pub fn new() -> Self {
        let item = json!({
            "type": "object",
            "properties": {
                "content": text("What is to be done, in a few words"),
                "status": text("pending, in_progress, completed or cancelled"),
                "priority": text("high, medium or low"),
            },
            "required": ["content", "status", "priority"],
        });
        let properties = json!({ "todos": { "type": "array", "items": item, "description": "The whole list, as it is now" } });
        Self(spec("todowrite", include_str!("todowrite.md"), properties, &["todos"]))
    }
}

impl Tool for TodoWrite {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run<'a>(&'a self, call: Call, world: &'a World) -> BoxFuture<'a, Result<Done, ToolFailure>> {
        Box::pin(async move {
            let Input { todos } = call.decode()?;
            ask::permission(world, "todowrite", "*", serde_json::Map::new()).await?;
            let acting = world.act().await?;
            (world.handles.set_todos)(acting, todos.clone()).await?;
            Ok(told(&todos))
        })
    }
}

fn told(todos: &[Todo]) -> Done {
    let open = todos.iter().filter(|todo| todo.status != "completed").count();
    let output = serde_json::to_string_pretty(todos).unwrap_or_default();
    Done::new(format!("{open} todos"), output, json!({ "todos": todos }))
}
