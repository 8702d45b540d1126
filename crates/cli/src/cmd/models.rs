//! Lists the models that can be asked.

use crate::args::Models;
use crate::client::Client;
use crate::failure::{Failure, UNMET};
use crate::table::Table;
use crate::{cmd, out};
use serde::Serialize;
use serde_json::Value;
use std::process::ExitCode;

#[derive(Serialize)]
struct ModelLine {
    /// As `--model` takes it.
    model: String,
    name: String,
    /// Tokens.
    context: Option<u64>,
    /// Dollars per million tokens.
    input: Option<f64>,
    output: Option<f64>,
    /// Whether the provider is asked for it when nothing else is said.
    default: bool,
}

pub(crate) fn run(arguments: Models) -> Result<ExitCode, Failure> {
    cmd::with_server(&arguments.server, async |server| list(&server.client, &arguments).await)
}

async fn list(client: &Client, arguments: &Models) -> Result<ExitCode, Failure> {
    let known = client.get("/config/providers", &[]).await?;
    let providers = known["providers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_wanted = |provider: &&Value| match &arguments.provider {
        Some(wanted) => provider["id"] == wanted.as_str(),
        None => true,
    };
    let mut lines = Vec::new();
    for provider in providers.iter().filter(is_wanted) {
        lines.extend(models_of(provider, &known["default"]));
    }
    if let Some(wanted) = arguments.provider.as_ref().filter(|_| lines.is_empty()) {
        return Err(Failure::new(UNMET, format!("no models of \"{wanted}\" can be asked here"))
            .with("try", format!("sturdy auth login {wanted}")));
    }
    if arguments.json {
        out::json(&lines);
    } else {
        print(&lines);
    }
    Ok(ExitCode::SUCCESS)
}

fn models_of(provider: &Value, defaults: &Value) -> Vec<ModelLine> {
    let id = provider["id"].as_str().unwrap_or_default();
    let models = provider["models"].as_object().into_iter().flatten();
    let line = |(model, about): (&String, &Value)| ModelLine {
        model: format!("{id}/{model}"),
        name: about["name"].as_str().unwrap_or_default().to_owned(),
        context: about["limit"]["context"].as_u64(),
        input: about["cost"]["input"].as_f64(),
        output: about["cost"]["output"].as_f64(),
        default: defaults[id] == model.as_str(),
    };
    models.map(line).collect()
}

fn print(lines: &[ModelLine]) {
    let mut table = Table::new(&["MODEL", "NAME", "CONTEXT", "$/M IN", "$/M OUT"], 1);
    let amount = |dollars: Option<f64>| dollars.map_or_else(String::new, |dollars| format!("{dollars}"));
    for line in lines {
        let context = line.context.map_or_else(String::new, |tokens| format!("{}k", tokens / 1000));
        table.row(vec![
            line.model.clone(),
            line.name.clone(),
            context,
            amount(line.input),
            amount(line.output),
        ]);
    }
    table.print();
}
