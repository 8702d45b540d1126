//! The parts of a prompt on their way in.

use crate::turns::texts;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::json;
use std::fs;
use sturdy_engine::{EngineError, PromptRequest};
use sturdy_session::fact::Fact;
use sturdy_session::id::{MessageId, PartId, SessionId};
use sturdy_session::turn::Refusal;
use sturdy_session::types::message::MessageWithParts;
use sturdy_session::types::part::{
    AgentPart, FilePart, FileSource, FileSourceKind, PartBody, SourceText, TextPart,
};
use sturdy_testkit::{World, answer};

const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn file(mime: &str, url: &str) -> PartBody {
    let filename = Some("attached".to_owned());
    PartBody::File(FilePart { mime: mime.to_owned(), filename, url: url.to_owned(), source: None })
}

fn local(world: &World, mime: &str, name: &str) -> PartBody {
    file(mime, &format!("file://{}", world.disk.project().join(name).display()))
}

/// Sends parts that want no reply; gives the stored message.
async fn sent(
    world: &World,
    session: &SessionId,
    parts: Vec<PartBody>,
) -> Result<MessageWithParts, EngineError> {
    let parts = parts.into_iter().map(|part| (None, part)).collect();
    let request = PromptRequest { parts, no_reply: true, ..PromptRequest::default() };
    let message = world.engine.prompt(session, request).await?;
    let stored = world.messages(session).await.into_iter().find(|stored| *stored.info.id() == message);
    Ok(stored.unwrap())
}

fn kinds(message: &MessageWithParts) -> Vec<String> {
    let kind = |part| serde_json::to_value(part).unwrap()["type"].as_str().unwrap().to_owned();
    message.parts.iter().map(kind).collect()
}

async fn failures(world: &World, session: &SessionId) -> usize {
    let failures = |fact: &Fact| match fact {
        Fact::PromptAdmitted { posted, .. } | Fact::MessageAdded { posted } => posted.failures.len(),
        _ => 0,
    };
    world.log(session).await.iter().map(failures).sum()
}

#[tokio::test]
async fn a_text_file_is_read_for_the_model_and_named_for_the_user() {
    let world = World::new().await;
    let session = world.session().await;
    fs::write(world.disk.project().join("a.txt"), "one\ntwo\nthree\n").unwrap();
    let id = PartId::parse("prt_chosen").unwrap();
    let parts = vec![(Some(id.clone()), local(&world, "text/plain", "a.txt?start=2&end=2"))];

    let request = PromptRequest { parts, no_reply: true, ..PromptRequest::default() };
    world.engine.prompt(&session.id, request).await.unwrap();

    let message = world.messages(&session.id).await.remove(0);
    assert_eq!(kinds(&message), ["text", "text", "file"]);
    assert_eq!(message.parts[2].id, id);
    let said = texts(&message);
    assert!(said[0].contains(r#""offset":2"#) && said[0].contains(r#""limit":1"#), "{}", said[0]);
    assert!(said[1].contains("2: two") && !said[1].contains("three"), "{}", said[1]);
    assert_eq!(failures(&world, &session.id).await, 0);
}

#[tokio::test]
async fn an_attached_file_may_be_changed_without_reading_it_again() {
    let world = World::new().await;
    let session = world.session().await;
    fs::write(world.disk.project().join("a.txt"), "one\n").unwrap();
    let edit = json!({ "filePath": "a.txt", "oldString": "one", "newString": "two" }).to_string();
    world.provider.will(answer().call(0, "c1", "edit", &edit).finish("tool_calls"));
    world.provider.will(answer().text("Done.").finish("stop"));
    let parts = vec![(None, local(&world, "text/plain", "a.txt"))];

    let asked =
        world.engine.prompt(&session.id, PromptRequest { parts, ..PromptRequest::default() }).await.unwrap();
    world.engine.answer(&session.id, &asked).await.unwrap();

    assert_eq!(fs::read_to_string(world.disk.project().join("a.txt")).unwrap(), "two\n");
}

#[tokio::test]
async fn a_directory_is_listed_and_says_that_it_is_one() {
    let world = World::new().await;
    let session = world.session().await;
    fs::create_dir_all(world.disk.project().join("sub/below")).unwrap();

    let message = sent(&world, &session.id, vec![local(&world, "text/plain", "sub")]).await.unwrap();

    assert_eq!(kinds(&message), ["text", "text", "file"]);
    assert!(texts(&message)[1].contains("below/"));
    let PartBody::File(file) = &message.parts[2].body else { panic!("not a file") };
    assert_eq!(file.mime, "application/x-directory");
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_a_note_and_not_a_failure() {
    let world = World::new().await;
    let session = world.session().await;
    fs::write(world.disk.project().join("b.bin"), [0u8, 1, 2, 3]).unwrap();
    let huge = fs::File::create(world.disk.project().join("huge.pdf")).unwrap();
    huge.set_len(64 * 1024 * 1024).unwrap();

    let message = sent(
        &world,
        &session.id,
        vec![
            local(&world, "text/plain", "missing.txt"),
            local(&world, "text/plain", "b.bin"),
            local(&world, "application/pdf", "huge.pdf"),
            local(&world, "application/pdf", "gone.pdf"),
            file("text/plain", "file:///proc/self/environ"),
            file("text/plain", "file://elsewhere/etc/hosts"),
        ],
    )
    .await
    .unwrap();

    assert!(kinds(&message).iter().all(|kind| kind == "text"), "{message:?}");
    assert_eq!(failures(&world, &session.id).await, 6);
    let said = texts(&message).join("\n");
    assert!(said.contains("missing.txt could not be read") && said.contains("larger than"), "{said}");
}

#[tokio::test]
async fn a_file_outside_the_project_is_read_because_the_user_named_it() {
    let world = World::new().await;
    let session = world.session().await;
    let outside = world.disk.home().join("notes.txt");
    fs::write(&outside, "from home\n").unwrap();

    let url = format!("file://{}", outside.display());
    let message = sent(&world, &session.id, vec![file("text/plain", &url)]).await.unwrap();

    assert!(texts(&message)[1].contains("from home"));
}

#[tokio::test]
async fn other_files_are_sent_whole() {
    let world = World::new().await;
    let session = world.session().await;
    fs::write(world.disk.project().join("a.pdf"), "%PDF-1.4 tiny").unwrap();

    let message = sent(
        &world,
        &session.id,
        vec![
            local(&world, "application/pdf", "a.pdf"),
            file("image/png", &format!("data:image/png;base64,{PNG}")),
        ],
    )
    .await
    .unwrap();

    assert_eq!(kinds(&message), ["text", "file", "file"]);
    let PartBody::File(pdf) = &message.parts[1].body else { panic!("not a file") };
    assert!(pdf.url.starts_with("data:application/pdf;base64,JVBERi0x"), "{}", pdf.url);
}

/// The header of a PNG of this many pixels, and nothing behind it.
fn unfolds_to(width: u32, height: u32) -> String {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    format!("data:image/png;base64,{}", BASE64_STANDARD.encode(bytes))
}

#[tokio::test]
async fn an_image_that_a_provider_would_refuse_is_told_of_and_not_sent() {
    let world = World::new().await;
    let session = world.session().await;
    let huge = unfolds_to(60_000, 60_000);
    let wrong = [
        ("data:image/png;base64,!!!", "attached could not be read. It is not a PNG"),
        ("data:image/png;base64,AAAA", "attached could not be read. It is not a PNG"),
        ("https://example.com/a.png", "attached could not be read. It is not a PNG"),
        (
            &huge,
            "attached could not be read. It is 60000 by 60000 pixels, which is too large to be made smaller.",
        ),
    ];

    for (url, told) in wrong {
        let message = sent(&world, &session.id, vec![file("image/png", url)]).await.unwrap();

        assert_eq!(kinds(&message), ["text"], "{url}");
        assert!(texts(&message)[0].starts_with(told), "{:?}", texts(&message));
    }
}

#[tokio::test]
async fn an_image_that_is_too_large_is_made_smaller() {
    let world = World::new().await;
    let session = world.session().await;
    let mut bytes = std::io::Cursor::new(Vec::new());
    image::DynamicImage::new_rgb8(3000, 30).write_to(&mut bytes, image::ImageFormat::Png).unwrap();
    fs::write(world.disk.project().join("wide.png"), bytes.into_inner()).unwrap();

    let message = sent(&world, &session.id, vec![local(&world, "image/png", "wide.png")]).await.unwrap();

    let file = message.parts.iter().find_map(|part| match &part.body {
        PartBody::File(file) => Some(file),
        _ => None,
    });
    let url = &file.expect("it is sent").url;
    let sent = BASE64_STANDARD.decode(url.strip_prefix("data:image/png;base64,").unwrap()).unwrap();
    let sent = image::load_from_memory(&sent).unwrap();
    assert_eq!((sent.width(), sent.height()), (2000, 20));
}

/// A real image without its last bytes.
fn cut_off() -> Vec<u8> {
    let mut bytes = BASE64_STANDARD.decode(PNG).unwrap();
    bytes.truncate(bytes.len() - 8);
    bytes
}

#[tokio::test]
async fn a_damaged_image_is_told_of_whatever_it_was_said_to_be() {
    // Was: one that was named as text went to the provider unseen.
    let world = World::new().await;
    let session = world.session().await;
    fs::write(world.disk.project().join("a.png"), cut_off()).unwrap();

    for mime in ["image/png", "text/plain"] {
        let message = sent(&world, &session.id, vec![local(&world, mime, "a.png")]).await.unwrap();

        assert!(kinds(&message).iter().all(|kind| *kind == "text"), "{mime}: {:?}", kinds(&message));
        let told = texts(&message);
        assert!(
            told.last().unwrap().ends_with("could not be read. It is damaged: it ends too early."),
            "{told:?}"
        );
    }
}

#[tokio::test]
async fn a_damaged_image_that_a_tool_found_is_left_out_with_the_reason() {
    let world = World::new().await;
    let session = world.session().await;
    fs::write(world.disk.project().join("a.png"), cut_off()).unwrap();
    let arguments = serde_json::json!({ "filePath": world.disk.project().join("a.png") }).to_string();
    world.provider.will(answer().call(0, "c1", "read", &arguments).finish("tool_calls"));
    world.provider.will(answer().text("It is damaged.").finish("stop"));

    world.ask(&session.id, "look at it").await.unwrap();

    let sent = world.provider.requests()[1]["messages"].to_string();
    assert!(sent.contains("[An image was left out. It is damaged: it ends too early.]"), "{sent}");
    assert!(!sent.contains("data:image"), "{sent}");
}

#[tokio::test]
async fn a_text_in_a_data_url_is_decoded() {
    let world = World::new().await;
    let session = world.session().await;

    let message = sent(
        &world,
        &session.id,
        vec![file("text/plain", "data:text/plain;base64,aGVsbG8"), file("text/plain", "data:,a%20b")],
    )
    .await
    .unwrap();

    assert_eq!(kinds(&message), ["text", "text", "file", "text", "text", "file"]);
    let said = texts(&message);
    assert_eq!((said[1], said[3]), ("hello", "a b"));
}

#[tokio::test]
async fn an_agent_is_followed_by_a_note_and_must_exist() {
    let world = World::new().await;
    let session = world.session().await;
    let agent = |name: &str| PartBody::Agent(AgentPart { name: name.to_owned(), source: None });

    let message = sent(&world, &session.id, vec![agent("general")]).await.unwrap();

    assert_eq!(kinds(&message), ["agent", "text"]);
    assert!(texts(&message)[0].contains("general"));
    let refused = sent(&world, &session.id, vec![agent("nobody")]).await;
    assert!(matches!(refused, Err(EngineError::Unknown(_))), "{refused:?}");
}

#[tokio::test]
async fn a_resource_of_a_server_that_is_not_there_is_a_note() {
    let world = World::new().await;
    let session = world.session().await;
    let kind = FileSourceKind::Resource { client_name: "docs".to_owned(), uri: "docs://a".to_owned() };
    let text = SourceText { value: "@a".to_owned(), start: 0u64.into(), end: 2u64.into() };
    let source = Some(FileSource { text, kind });
    let part = FilePart { mime: "text/plain".to_owned(), filename: None, url: "docs://a".to_owned(), source };

    let message = sent(&world, &session.id, vec![PartBody::File(part)]).await.unwrap();

    assert_eq!(
        texts(&message),
        [
            "Reading MCP resource: docs://a (docs://a)",
            "The resource docs://a could not be read: no MCP server named \"docs\" is connected.",
        ]
    );
}

#[tokio::test]
async fn an_id_is_never_used_twice() {
    let world = World::new().await;
    let one = world.session().await;
    let other = world.session().await;
    let text = || PartBody::Text(TextPart { text: "hi".to_owned(), ..TextPart::default() });
    let part = PartId::parse("prt_mine").unwrap();
    let ask = |message: &str, parts: Vec<&str>| PromptRequest {
        message: Some(MessageId::parse(message).unwrap()),
        parts: parts.into_iter().map(|id| (Some(PartId::parse(id).unwrap()), text())).collect(),
        no_reply: true,
        ..PromptRequest::default()
    };
    world.engine.prompt(&one.id, ask("msg_mine", vec!["prt_mine"])).await.unwrap();

    let same = world.engine.prompt(&one.id, ask("msg_mine", vec![])).await;
    let stolen = world.engine.prompt(&one.id, ask("msg_new", vec!["prt_mine"])).await;
    let twice = world.engine.prompt(&one.id, ask("msg_new", vec!["prt_a", "prt_a"])).await;
    let elsewhere = world.engine.prompt(&other.id, ask("msg_mine", vec!["prt_mine"])).await;

    assert!(matches!(same, Err(EngineError::Refused(Refusal::MessageExists(_)))), "{same:?}");
    for refused in [stolen, twice] {
        assert!(matches!(refused, Err(EngineError::Bad(_))), "{refused:?}");
    }
    assert_eq!(elsewhere.unwrap().as_str(), "msg_mine", "ids count within their session");
    for session in [&one, &other] {
        let messages = world.messages(&session.id).await;
        assert_eq!(messages.len(), 1);
        assert_eq!(messages[0].parts[0].id, part);
    }
}

#[tokio::test]
async fn a_symbol_is_read_to_its_end() {
    let world = World::new().await;
    let session = world.session().await;
    fs::write(world.disk.project().join("a.rs"), "one\ntwo\nthree\nfour\n").unwrap();
    let source = json!({
        "type": "symbol", "path": "a.rs", "name": "two", "kind": 12,
        "range": { "start": { "line": 1, "character": 0 }, "end": { "line": 2, "character": 5 } },
        "text": { "value": "@two", "start": 0, "end": 4 },
    });
    let PartBody::File(mut part) = local(&world, "text/plain", "a.rs?start=2&end=2") else { unreachable!() };
    part.source = Some(serde_json::from_value(source).unwrap());

    let message = sent(&world, &session.id, vec![PartBody::File(part)]).await.unwrap();

    let read = texts(&message)[1];
    assert!(read.contains("2: two\n3: three\n") && !read.contains("four"), "{read}");
}

#[tokio::test]
async fn a_prompt_with_too_many_files_is_refused() {
    let world = World::new().await;
    let session = world.session().await;

    let refused = sent(&world, &session.id, vec![local(&world, "text/plain", "a.txt"); 257]).await;

    assert!(matches!(refused, Err(EngineError::Bad(_))), "{refused:?}");
    assert!(world.messages(&session.id).await.is_empty());
}
