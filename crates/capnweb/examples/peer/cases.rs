//! The cases a Rust client runs against an npm server.
pub(crate) async fn run(_ws: &str, _http: &str, _names: &[&str]) -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
