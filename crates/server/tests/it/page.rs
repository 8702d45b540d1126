//! The web page's shell and files, and the reads it begins with.

use crate::stream::{Frame, Stream};
use crate::world::{Answer, NO_SESSION, World, no_such_session, prompt};
use serde_json::{Value, json};
use std::time::Duration;
use sturdy_server::{Password, ServerOptions, ShareOptions};

const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

async fn navigate(world: &World, path: &str) -> Answer {
    Answer::of(world.request("GET", path).header("accept", BROWSER).send().await.unwrap()).await
}

/// A prompt that is answered with itself.
fn echo(text: &str) -> Value {
    json!({ "model": { "providerID": "demo", "modelID": "echo" }, "parts": [{ "type": "text", "text": text }] })
}

/// The name of the build, from the shell.
fn build_of(shell: &Answer) -> String {
    let at = shell.text.find("/ui/").unwrap() + "/ui/".len();
    shell.text[at..].split('/').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_navigation_gets_the_shell_and_everything_else_stays_api() {
    let world = World::new().await;

    for path in [
        "/",
        "/board",
        "/asks",
        "/new?dir=x",
        "/s/ses_1",
        "/search?q=a",
        "/usage",
        "/shares",
        "/settings",
        "/login",
    ] {
        let shell = navigate(&world, path).await;
        assert_eq!(shell.status, 200, "{path}");
        assert_eq!(shell.header("content-type"), Some("text/html; charset=utf-8"));
        assert_eq!(shell.header("cache-control"), Some("no-cache"));
        let policy = shell.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{policy}");
        assert!(policy.ends_with("frame-ancestors 'none'"), "{policy}");
        assert_eq!(shell.header("x-content-type-options"), Some("nosniff"));
    }

    let message = json!({ "message": "There is no GET /" });
    assert_eq!(world.get("/").await.both(), (404, json!({ "name": "NotFoundError", "data": message })));
    assert_eq!(navigate(&world, "/nowhere").await.status, 404);
    assert_eq!(navigate(&world, "/session").await.json(), json!([]));
}

#[tokio::test]
async fn files_of_the_page_stand_under_the_name_of_their_build_and_nowhere_else() {
    let world = World::new().await;
    let shell = navigate(&world, "/").await;
    let build = build_of(&shell);

    let script = world.get(&format!("/ui/{build}/core.js")).await;
    assert_eq!(script.status, 200);
    assert_eq!(script.header("content-type"), Some("text/javascript; charset=utf-8"));
    assert_eq!(script.header("cache-control"), Some("public, max-age=31536000, immutable"));
    assert_eq!(script.header("content-encoding"), None);

    let packed = world.request("GET", &format!("/ui/{build}/core.js")).header("accept-encoding", "gzip");
    let packed = packed.send().await.unwrap();
    assert_eq!(packed.headers()["content-encoding"], "gzip");
    let bytes = packed.bytes().await.unwrap();
    let mut unpacked = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut unpacked).unwrap();
    assert_eq!(unpacked, script.text);

    let known = world.request("GET", "/").header("accept", BROWSER);
    let known = known.header("if-none-match", format!("\"{build}\"")).send().await.unwrap();
    assert_eq!(known.status(), 304);
    for path in [
        "/ui/older/core.js".to_owned(),
        format!("/ui/{build}/index.html"),
        format!("/ui/{build}/..%2fbuild.rs"),
    ] {
        assert_eq!(world.get(&path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn a_password_closes_everything_but_the_empty_shell() {
    let password = Some(Password::new("ada", "hush".to_owned()));
    let world = World::with(ServerOptions { password, ..ServerOptions::default() }).await;

    let shell = navigate(&world, "/s/ses_1").await;
    assert_eq!(shell.status, 200);
    assert_eq!(world.get(&format!("/ui/{}/style.css", build_of(&shell))).await.status, 200);
    assert_eq!(world.get("/site.webmanifest").await.status, 200);

    for path in ["/", "/sturdy/overview", "/session", "/sturdy/usage"] {
        assert_eq!(world.get(path).await.status, 401, "{path}");
    }
    assert_eq!(navigate(&world, "/session").await.status, 401);
    let post = world.request("POST", "/asks").header("accept", BROWSER).send().await.unwrap();
    assert_eq!(post.status(), 401);
}

#[tokio::test]
async fn an_overview_lists_every_session_page_by_page_with_its_status() {
    let world = World::new().await;
    for title in ["one", "two", "three"] {
        world.session_with(&json!({ "title": title })).await;
    }

    let first = world.get("/sturdy/overview?limit=2").await;
    assert_eq!(first.status, 200, "{}", first.text);
    let first = first.json();
    let cursor = first["cursor"].as_str().unwrap();
    let second = world.get(&format!("/sturdy/overview?limit=2&cursor={cursor}")).await.json();

    let titles = |page: &Value| -> Vec<String> {
        let rows = page["sessions"].as_array().unwrap();
        rows.iter().map(|row| row["info"]["title"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!((titles(&first), titles(&second)), (vec!["three".into(), "two".into()], vec!["one".into()]));
    assert_eq!(second.get("cursor"), None);
    assert_eq!(first["sessions"][0]["status"], json!({ "type": "idle" }));
    assert_eq!(first["asks"], json!([]));
    assert_eq!(world.get("/sturdy/overview?cursor=nonsense").await.status, 400);
    assert_eq!(world.get("/sturdy/overview?limit=0").await.status, 400);
}

#[tokio::test]
async fn a_session_is_opened_with_its_newest_messages_and_the_place_they_were_read_at() {
    let world = World::new().await;
    let session = world.session().await;
    world.ask(&session, "first").await;
    world.ask(&session, "second").await;

    let opened = world.get(&format!("/sturdy/session/{session}?limit=2")).await;

    let body = opened.json();
    assert_eq!(opened.header("x-sturdy-position"), body["position"].as_str());
    let listed = world.get(&format!("/session/{session}/message?limit=2")).await;
    assert_eq!(body["messages"], listed.json());
    assert_eq!(body["cursor"].as_str(), listed.header("x-next-cursor"));
    assert_eq!(listed.header("x-sturdy-position"), body["position"].as_str());
    assert_eq!(body["status"], json!({ "type": "idle" }));
    assert_eq!((&body["queue"], &body["todos"], &body["family"]), (&json!([]), &json!([]), &json!([])));
    assert_eq!(world.get(&format!("/sturdy/session/{NO_SESSION}")).await.both(), no_such_session());
    assert_eq!(world.get(&format!("/sturdy/session/{NO_SESSION}/outline")).await.both(), no_such_session());
    let outline = world.get(&format!("/sturdy/session/{session}/outline")).await.json();
    let headers: Vec<&Value> = outline["messages"].as_array().unwrap().iter().collect();
    assert_eq!(headers.len(), 4);
    assert_eq!(headers[2], &body["messages"][0]["info"]);
}

#[tokio::test]
async fn a_waiting_prompt_is_listed_and_taken_back() {
    let world = World::new().await;
    let session = world.session().await;
    let path = format!("/session/{session}/prompt_async");
    assert_eq!(world.send("POST", &path, &prompt("/demo hang 1")).await.status, 204);
    // The open step is what the second prompt waits for.
    while world.get(&format!("/session/{session}/message")).await.json().as_array().unwrap().len() < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.send("POST", &path, &prompt("later")).await.status, 204);

    let opened = world.get(&format!("/sturdy/session/{session}")).await.json();
    let waiting = opened["queue"][0].as_str().unwrap().to_owned();
    let queue = world.get(&format!("/sturdy/session/{session}/queue")).await.json();
    assert_eq!(opened["status"], json!({ "type": "busy" }));
    assert_eq!(queue[0]["info"]["id"], json!(waiting));
    assert_eq!(queue[0]["parts"][0]["text"], json!("later"));

    let taken = world.call("DELETE", &format!("/sturdy/session/{session}/queue/{waiting}")).await;
    assert_eq!(taken.both(), (200, json!(true)));
    assert_eq!(world.get(&format!("/sturdy/session/{session}/queue")).await.json(), json!([]));
    let again = world.call("DELETE", &format!("/sturdy/session/{session}/queue/{waiting}")).await;
    assert_eq!(again.status, 404);
    assert_eq!(world.call("POST", &format!("/session/{session}/abort")).await.status, 200);
}

#[tokio::test]
async fn the_line_of_waiting_prompts_is_told_whenever_it_changes() {
    let world = World::new().await;
    let session = world.session().await;
    let mut stream = Stream::open(&world, &format!("/event?session={session}")).await;
    let path = format!("/session/{session}/prompt_async");
    let line = |frames: &[Frame]| frames.last().unwrap().json()["properties"]["messages"].clone();
    let is_line = |frame: &Frame| frame.kind() == "sturdy.queue";
    world.send("POST", &path, &prompt("/demo hang 1")).await;
    let first = stream.until(|frame| frame.kind() == "message.part.delta").await;

    world.send("POST", &path, &prompt("second")).await;
    let second = line(&stream.until(is_line).await);
    world.send("POST", &path, &prompt("third")).await;
    let both = line(&stream.until(is_line).await);
    let taken = format!("/sturdy/session/{session}/queue/{}", second[0].as_str().unwrap());
    world.call("DELETE", &taken).await;
    let third = line(&stream.until(is_line).await);
    world.call("POST", &format!("/session/{session}/abort")).await;
    let stopped = stream.until(Frame::is_idle).await;
    world.call("POST", &format!("/sturdy/session/{session}/resume")).await;
    let resumed = line(&stream.until(is_line).await);

    // The first one never stood in line.
    assert!(!first.iter().any(is_line));
    assert_eq!(both, json!([second[0], third[0]]));
    assert_eq!(third.as_array().unwrap().len(), 1);
    assert!(!stopped.iter().any(is_line), "nothing has changed");
    assert_eq!(resumed, json!([]));
}

#[tokio::test]
async fn usage_is_summed_by_what_is_asked_for() {
    let world = World::new().await;
    let session = world.session().await;
    world.ask(&session, "one").await;
    world.ask(&session, "two").await;

    let by_session = world.get("/sturdy/usage?by=session").await.json();
    let by_day = world.get("/sturdy/usage?zone=-60").await.json();

    let row = &by_session["rows"][0];
    assert_eq!((&row["key"], &row["steps"], &row["errors"]), (&json!(session), &json!(2), &json!(0)));
    assert!(row["tokens"]["output"].as_f64().unwrap() > 0.0);
    assert_eq!(by_day["rows"].as_array().unwrap().len(), 1);
    assert_eq!(by_day["isComplete"], json!(true));
    for query in ["by=colour", "zone=900", "zone=x", "since=-1"] {
        assert_eq!(world.get(&format!("/sturdy/usage?{query}")).await.status, 400, "{query}");
    }
}

#[tokio::test]
async fn usage_is_narrowed_to_a_model_an_agent_or_a_project() {
    let world = World::new().await;
    let session = world.session().await;
    world.ask(&session, "one").await;
    let story = json!({ "model": { "providerID": "demo", "modelID": "story" }, "agent": "plan",
        "parts": [{ "type": "text", "text": "two" }] });
    assert_eq!(world.send("POST", &format!("/session/{session}/message"), &story).await.status, 200);
    let project = world.get(&format!("/session/{session}")).await.json()["projectID"].clone();
    let rows = async |query: &str| {
        let answer = world.get(&format!("/sturdy/usage?{query}")).await.json();
        let rows = answer["rows"].as_array().unwrap().clone();
        rows.into_iter().map(|row| (row["key"].clone(), row["steps"].clone())).collect::<Vec<_>>()
    };

    let by_project = rows("by=project").await;
    let of_story = rows("by=session&model=demo/story").await;
    let of_plan = rows("by=model&agent=plan").await;
    let of_project = rows(&format!("by=agent&project={}", project.as_str().unwrap())).await;
    let of_nobody = rows("by=session&project=nowhere").await;

    assert_eq!(by_project, [(project, json!(2))]);
    assert_eq!(of_story, [(json!(session), json!(1))]);
    assert_eq!(of_plan, [(json!("demo/story"), json!(1))]);
    assert_eq!(of_project, [(json!("build"), json!(1)), (json!("plan"), json!(1))]);
    assert_eq!(of_nobody, []);
}

#[tokio::test]
async fn a_browser_logs_in_once_and_its_cookie_counts_beside_the_header_of_the_page() {
    let password = || Some(Password::new("ada", "hush".to_owned()));
    let world = World::with(ServerOptions { password: password(), ..ServerOptions::default() }).await;
    let page = |method: &str, path: &str| world.request(method, path).header("x-sturdy-page", "1");

    let locked = page("GET", "/sturdy/overview").send().await.unwrap();
    assert_eq!(locked.status(), 401);
    assert_eq!(locked.headers().get("www-authenticate"), None);
    let wrong = page("POST", "/sturdy/login").basic_auth("ada", Some("hash")).send().await.unwrap();
    assert_eq!(wrong.status(), 401);

    let login = page("POST", "/sturdy/login").basic_auth("ada", Some("hush")).send().await.unwrap();
    let set = login.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(set.contains("; HttpOnly; SameSite=Strict; Path=/;"), "{set}");
    let cookie = set.split(';').next().unwrap();
    let open = page("GET", "/sturdy/overview").header("cookie", cookie).send().await.unwrap();
    assert_eq!(open.status(), 200);
    let bare = world.request("GET", "/sturdy/overview").header("cookie", cookie).send().await.unwrap();
    assert_eq!(bare.status(), 401);

    let out = page("POST", "/sturdy/logout").header("cookie", cookie).send().await.unwrap();
    assert_eq!(out.text().await.unwrap(), "true");
    let after = page("GET", "/sturdy/overview").header("cookie", cookie).send().await.unwrap();
    assert_eq!(after.status(), 401);
}

#[tokio::test]
async fn the_stream_of_a_browser_ends_when_it_is_logged_out() {
    let password = Some(Password::new("ada", "hush".to_owned()));
    let world = World::with(ServerOptions { password, ..ServerOptions::default() }).await;
    let page = |method: &str, path: &str| world.request(method, path).header("x-sturdy-page", "1");
    let mut cookies = Vec::new();
    for _ in 0..2 {
        let login = page("POST", "/sturdy/login").basic_auth("ada", Some("hush")).send().await.unwrap();
        let set = login.headers()["set-cookie"].to_str().unwrap().to_owned();
        cookies.push(set.split(';').next().unwrap().to_owned());
    }
    let listen = |cookie: &str| page("GET", "/global/event").header("cookie", cookie).send();
    let mut phone = listen(&cookies[0]).await.unwrap();
    let mut desk = listen(&cookies[1]).await.unwrap();
    assert!(phone.chunk().await.unwrap().is_some());
    assert!(desk.chunk().await.unwrap().is_some());

    let devices = page("GET", "/sturdy/devices").header("cookie", &cookies[1]).send().await.unwrap();
    let devices = Answer::of(devices).await.json();
    let path = format!("/sturdy/devices/{}", devices[0]["id"].as_str().unwrap());
    let forgotten = page("DELETE", &path).header("cookie", &cookies[1]).send().await.unwrap();
    assert_eq!(forgotten.text().await.unwrap(), "true");

    // Was: whoever was logged out from elsewhere went on listening.
    ended(&mut phone).await;
    assert_eq!(listen(&cookies[0]).await.unwrap().status(), 401);
    let still = page("GET", "/sturdy/devices").header("cookie", &cookies[1]).send().await.unwrap();
    assert_eq!(Answer::of(still).await.json().as_array().unwrap().len(), 1);
    let out = page("POST", "/sturdy/logout").header("cookie", &cookies[1]).send().await.unwrap();
    assert_eq!(out.text().await.unwrap(), "true");
    ended(&mut desk).await;
}

/// Reads an answer to its end, which is near.
async fn ended(stream: &mut reqwest::Response) {
    let rest = async { while stream.chunk().await.unwrap().is_some() {} };
    tokio::time::timeout(Duration::from_secs(120), rest).await.expect("the stream goes on");
}

#[tokio::test]
async fn the_cookie_of_a_browser_that_comes_again_is_renewed_once_a_day() {
    let options = || ServerOptions {
        password: Some(Password::new("ada", "hush".to_owned())),
        ..ServerOptions::default()
    };
    let world = World::with(options()).await;
    let login = world.request("POST", "/sturdy/login").basic_auth("ada", Some("hush")).send().await.unwrap();
    let set = login.headers()["set-cookie"].to_str().unwrap().to_owned();
    let token = set.split(['=', ';']).nth(1).unwrap().to_owned();
    let root = world.close().await;
    let file = root.path().join("data/devices.json");
    let mut devices: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let two_days_ago = devices[0]["seen"].as_u64().unwrap() - 2 * 24 * 60 * 60 * 1000;
    devices[0]["seen"] = json!(two_days_ago);
    std::fs::write(&file, devices.to_string()).unwrap();
    let world = World::open_again(root, options()).await;
    let look = || {
        let asked = world.request("GET", "/sturdy/devices").header("x-sturdy-page", "1");
        asked.header("cookie", format!("sturdy_1={token}")).send()
    };

    let first = Answer::of(look().await.unwrap()).await;
    let second = Answer::of(look().await.unwrap()).await;

    let port = world.url.rsplit(':').next().unwrap();
    let renewed = format!("sturdy_{port}={token}; HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000");
    // Was: thirty days after the login the browser threw its cookie away, however often it had come.
    assert_eq!((first.status, first.header("set-cookie")), (200, Some(renewed.as_str())));
    assert_eq!((second.status, second.header("set-cookie")), (200, None));
}

#[tokio::test]
async fn the_icons_of_the_manifest_are_pictures_of_the_size_it_says() {
    let password = Some(Password::new("ada", "hush".to_owned()));
    let world = World::with(ServerOptions { password, ..ServerOptions::default() }).await;
    let manifest = world.get("/site.webmanifest").await;
    assert_eq!(manifest.header("content-type"), Some("application/manifest+json"));
    let manifest = manifest.json();
    assert_eq!((&manifest["display"], &manifest["start_url"]), (&json!("standalone"), &json!("/")));

    let pngs = manifest["icons"].as_array().unwrap().iter().filter(|icon| icon["type"] == "image/png");
    let mut wanted: Vec<(String, String)> = pngs
        .map(|icon| (icon["src"].as_str().unwrap().to_owned(), icon["sizes"].as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(wanted.len(), 3, "{manifest}");
    wanted.push(("/apple-touch-icon.png".to_owned(), "180x180".to_owned()));

    // Was: the icon of the home screen was promised and answered with 404.
    for (path, sizes) in wanted {
        let icon = world.request("GET", &path).send().await.unwrap();
        assert_eq!(
            (icon.status().as_u16(), icon.headers()["content-type"].as_bytes()),
            (200, &b"image/png"[..])
        );
        let bytes = icon.bytes().await.unwrap();
        assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"), "{path}");
        let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!(format!("{}x{}", number(16), number(20)), sizes, "{path}");
    }
}

#[tokio::test]
async fn the_overview_says_whether_this_server_keeps_shares() {
    let alone = World::new().await;
    assert_eq!(alone.get("/sturdy/overview").await.json()["features"]["share"], json!(false));

    let receiving = World::with(ServerOptions {
        share: Some(ShareOptions::at("https://share.example/")),
        ..ServerOptions::default()
    })
    .await;

    // Was: always false.
    assert_eq!(receiving.get("/sturdy/overview").await.json()["features"]["share"], json!(true));
}

#[tokio::test]
async fn a_one_time_code_lets_one_browser_in() {
    let password = Some(Password::new("ada", "hush".to_owned()));
    let world = World::with(ServerOptions { password, ..ServerOptions::default() }).await;
    let made =
        world.request("POST", "/sturdy/login/code").basic_auth("ada", Some("hush")).send().await.unwrap();
    let code = Answer::of(made).await.json()["code"].clone();
    assert_eq!(world.call("POST", "/sturdy/login/code").await.status, 401);

    let body = json!({ "code": code });
    let first = world.send("POST", "/sturdy/login/once", &body).await;
    let second = world.send("POST", "/sturdy/login/once", &body).await;

    assert_eq!(first.both(), (200, json!(true)));
    assert_eq!(second.status, 401);
    let cookie = first.header("set-cookie").unwrap().split(';').next().unwrap();
    let devices =
        world.request("GET", "/sturdy/devices").header("cookie", cookie).header("x-sturdy-page", "1");
    let devices = Answer::of(devices.send().await.unwrap()).await.json();
    assert_eq!(devices.as_array().unwrap().len(), 1);
    assert_eq!(devices[0].get("hash"), None);
}

#[tokio::test]
async fn an_exported_file_holds_the_session_as_text_and_lets_nothing_else_run() {
    let world = World::new().await;
    let title = "<script>alert(1)</script> %TRANSCRIPT% %SESSION%";
    let session = world.send("POST", "/session", &json!({ "title": title })).await.json();
    let id = session["id"].as_str().unwrap();
    let said = "</script><script>window.pwned = 1</script> & more";
    world.send("POST", &format!("/session/{id}/message"), &echo(said)).await;

    let file = world.get(&format!("/sturdy/session/{id}/export.html")).await;

    assert_eq!(file.status, 200);
    assert_eq!(file.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(file.header("content-disposition").unwrap().starts_with("attachment; filename=\""));
    assert!(!file.text.contains("<script>"), "a text became markup");
    assert!(file.text.contains("&lt;script&gt;alert(1)&lt;/script&gt; %TRANSCRIPT% %SESSION%</title>"));
    assert!(
        file.text
            .contains("<pre>&lt;/script&gt;&lt;script&gt;window.pwned = 1&lt;/script&gt; &amp; more</pre>")
    );
    let begin = file.text.find("id=\"session\">").unwrap() + "id=\"session\">".len();
    let end = file.text[begin..].find("</script>").unwrap();
    let data: Value = serde_json::from_str(&file.text[begin..begin + end]).unwrap();
    assert_eq!(data["info"]["title"], title);
    let messages = world.get(&format!("/session/{id}/message")).await.json();
    assert_eq!(data["messages"], messages);
    let nobody = world.get(&format!("/sturdy/session/{NO_SESSION}/export.html")).await;
    assert_eq!(nobody.both(), no_such_session());
}

#[tokio::test]
async fn a_link_to_a_share_opens_a_page_of_its_own_that_is_not_listed() {
    let password = Some(Password::new("ada", "hush".to_owned()));
    let world = World::with(ServerOptions { password, ..ServerOptions::default() }).await;

    let shell = navigate(&world, "/share/shr_1").await;

    assert_eq!(shell.status, 200);
    assert_eq!(shell.header("x-robots-tag"), Some("noindex"));
    assert!(shell.header("content-security-policy").unwrap().ends_with("frame-ancestors 'none'"));
    assert!(shell.text.contains("/share.js"));
    assert!(!shell.text.contains("/core.js"));
}

#[tokio::test]
async fn the_entries_of_a_session_are_what_its_clients_were_told() {
    let world = World::new().await;
    let session = world.send("POST", "/session", &json!({ "title": "Past" })).await.json();
    let id = session["id"].as_str().unwrap();
    world.send("POST", &format!("/session/{id}/message"), &echo("Tell me")).await;

    let mut told: Vec<Value> = Vec::new();
    let mut after = "0".to_owned();
    loop {
        let page = world.get(&format!("/sturdy/session/{id}/entries?limit=3&after={after}")).await.json();
        told.extend(page["entries"].as_array().unwrap().iter().cloned());
        let Some(cursor) = page["cursor"].as_str() else { break };
        after = cursor.to_owned();
    }

    let whole = world.get(&format!("/sturdy/session/{id}/entries?limit=2000")).await.json();
    assert_eq!(told, *whole["entries"].as_array().unwrap());
    let events: Vec<&Value> = told.iter().flat_map(|entry| entry["events"].as_array().unwrap()).collect();
    assert_eq!(events[0]["type"], "session.created");
    assert_eq!(events[0]["properties"]["info"]["id"], id);
    let grown: String = events
        .iter()
        .filter(|event| event["type"] == "message.part.delta" && event["properties"]["field"] == "text")
        .map(|event| event["properties"]["delta"].as_str().unwrap())
        .collect();
    assert!(grown.contains("Tell me"), "{grown}");
    assert!(told.iter().all(|entry| entry["at"].as_u64().unwrap() > 0));
    let nobody = world.get(&format!("/sturdy/session/{NO_SESSION}/entries")).await;
    assert_eq!(nobody.both(), no_such_session());
}

#[tokio::test]
async fn words_are_found_in_what_people_and_models_said_and_nowhere_else() {
    let world = World::new().await;
    let session = world.send("POST", "/session", &json!({ "title": "Somewhere" })).await.json();
    let id = session["id"].as_str().unwrap();
    world.send("POST", &format!("/session/{id}/message"), &echo("A 100% \"Quoted\" Needle_x in hay")).await;

    let found = async |words: &str| {
        let query: String = url::form_urlencoded::byte_serialize(words.as_bytes()).collect();
        world.get(&format!("/sturdy/search?q={query}")).await.json()
    };

    let hits = found("needle_X").await;
    let first = &hits["hits"][0];
    assert_eq!(first["sessionID"], id);
    assert_eq!(first["kind"], "text");
    assert_eq!(first["snippet"][1], json!({ "text": "Needle_x", "hit": true }));
    assert_eq!(hits["sessions"][id]["title"], "Somewhere");
    assert_eq!(hits.get("cursor"), None);
    // The prompt and its echo.
    assert!(found("100% \"quoted").await["hits"].as_array().unwrap().len() >= 2);
    // A sign of the database, the name of a field, an id.
    for words in ["needle%x", "messageID", id] {
        assert_eq!(found(words).await["hits"], json!([]), "{words}");
    }
    assert_eq!(world.get("/sturdy/search?q=a").await.status, 400);
}

#[tokio::test]
async fn a_search_is_narrowed_by_who_said_it_what_it_stands_in_where_and_when() {
    let world = World::new().await;
    let session = world.send("POST", "/session", &json!({ "title": "Somewhere" })).await.json();
    let id = session["id"].as_str().unwrap();
    let project = session["projectID"].as_str().unwrap();
    world.send("POST", &format!("/session/{id}/message"), &echo("a needle")).await;
    let command = json!({ "agent": "build", "command": "printf 'a %s' needle # in a needle" });
    world.send("POST", &format!("/session/{id}/shell"), &command).await;
    let messages = world.get(&format!("/session/{id}/message")).await.json();
    let created = |index: usize| messages[index]["info"]["time"]["created"].as_u64().unwrap();
    let found = async |narrowed: &str| {
        let found = world.get(&format!("/sturdy/search?q=needle&{narrowed}")).await.json();
        let shown = |hit: &Value| {
            format!("{} {}", hit["kind"].as_str().unwrap(), hit["tool"].as_str().unwrap_or("-"))
        };
        found["hits"].as_array().unwrap().iter().map(shown).collect::<Vec<_>>()
    };

    assert_eq!(found("").await, ["tool bash", "text -", "text -"]);
    assert_eq!(found("role=user").await, ["text -"]);
    assert_eq!(found("role=assistant").await, ["tool bash", "text -"]);
    assert_eq!(found("kind=text").await, ["text -", "text -"]);
    assert_eq!(found("kind=output").await, ["output bash"]);
    assert_eq!(found("kind=reasoning").await, [""; 0]);
    assert_eq!(found("tool=bash").await, ["tool bash"]);
    assert_eq!(found("tool=read").await, [""; 0]);
    assert_eq!(found(&format!("project={project}&role=user")).await, ["text -"]);
    assert_eq!(found("project=another").await, [""; 0]);
    assert_eq!(found(&format!("until={}", created(0))).await, [""; 0]);
    assert_eq!(found(&format!("since={}&role=user", created(0))).await, ["text -"]);
    let far = created(messages.as_array().unwrap().len() - 1) + 1;
    assert_eq!(found(&format!("since={far}")).await, [""; 0]);
    assert_eq!(found(&format!("session={id}&role=user&kind=text&until={far}")).await, ["text -"]);
    for wrong in ["role=system", "kind=word", "since=then"] {
        assert_eq!(world.get(&format!("/sturdy/search?q=needle&{wrong}")).await.status, 400, "{wrong}");
    }
}

#[tokio::test]
async fn a_redacted_file_holds_what_was_said_and_nothing_that_was_found() {
    let world = World::new().await;
    let session = world.send("POST", "/session", &json!({ "title": "Passed on" })).await.json();
    let id = session["id"].as_str().unwrap();
    world.send("POST", &format!("/session/{id}/message"), &echo("said aloud")).await;
    let command = json!({ "agent": "build", "command": "printf 'a %s' secret" });
    world.send("POST", &format!("/session/{id}/shell"), &command).await;
    let export = async |query: &str| world.get(&format!("/sturdy/session/{id}/export.html{query}")).await;

    let whole = export("").await.text;
    let redacted = export("?redact=1").await.text;

    assert!(whole.contains("a secret") && whole.contains("\"leftOut\":[]"), "the command printed it");
    assert!(!redacted.contains("a secret"));
    assert!(redacted.contains("said aloud") && redacted.contains("printf"));
    assert!(
        redacted.contains("\"leftOut\":[\"outputs\",\"files\",\"thoughts\"]")
            && redacted
                .contains("<p>Redacted: outputs of tools, contents of files and thoughts are left out.</p>")
    );
    let thoughtless = export("?redact=thoughts").await;
    assert!(thoughtless.text.contains("a secret"), "only what is named is left out");
    assert!(thoughtless.text.contains("<p>Redacted: thoughts are left out.</p>"));
    let name = thoughtless.header("content-disposition").unwrap();
    assert!(name.ends_with("-redacted.html\""), "{name}");
    let printed = export("?redact=outputs,thoughts").await.text;
    assert!(!printed.contains("a secret") && printed.contains("outputs of tools and thoughts are left out"));
    // Was it meant? A file that holds more than that cannot be taken back.
    for wish in ["yes", "", "outputs,everything", "outputs,", "Files"] {
        assert_eq!(export(&format!("?redact={wish}")).await.status, 400, "{wish}");
    }
}

#[tokio::test]
async fn a_question_about_trust_is_among_the_asks_of_the_page() {
    let root = tempfile::tempdir().unwrap();
    let project = root.path().join("project");
    std::fs::create_dir_all(&project).unwrap();
    let config = json!({ "mcp": { "helper": { "type": "local", "command": ["false"] } } });
    std::fs::write(project.join("opencode.json"), config.to_string()).unwrap();
    let world = World::trusting_nobody(root).await;
    let session = world.send("POST", "/session", &json!({})).await.json();
    let id = session["id"].as_str().unwrap();
    world.send("POST", &format!("/session/{id}/prompt_async"), &echo("Hello")).await;
    let open = async || world.get("/permission").await.json()[0].clone();
    while open().await.is_null() {
        tokio::task::yield_now().await;
    }
    let asked = open().await;

    let expected = json!([{ "kind": "permission", "request": asked }]);
    assert_eq!(world.get("/sturdy/overview").await.json()["asks"], expected);
    assert_eq!(world.get(&format!("/sturdy/session/{id}")).await.json()["asks"], expected);
    let other = world.send("POST", "/session", &json!({})).await.json();
    let other = other["id"].as_str().unwrap();
    assert_eq!(world.get(&format!("/sturdy/session/{other}")).await.json()["asks"], json!([]));
}
