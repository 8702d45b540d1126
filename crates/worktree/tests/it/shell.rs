//! What a shell command is read as.

use sturdy_worktree::shell::{Writer, prefix, read};

fn patterns(text: &str) -> (Vec<String>, Vec<String>) {
    let reading = read(text);
    assert!(!reading.unclear, "{text}");
    (reading.patterns, reading.always)
}

#[test]
fn each_simple_command_is_a_pattern() {
    for (text, expected, always) in [
        (
            "git commit -m 'x y' && npm run dev --flag",
            vec!["git commit -m 'x y'", "npm run dev --flag"],
            vec!["git commit *", "npm run dev *"],
        ),
        ("echo hi > out.txt", vec!["echo hi > out.txt"], vec!["echo hi > out.txt"]),
        ("cd sub && ls -la", vec!["ls -la"], vec!["ls *"]),
        ("echo $(whoami)", vec!["echo $(whoami)", "whoami"], vec!["echo *", "whoami *"]),
        ("FOO=1 python3 x.py", vec!["FOO=1 python3 x.py"], vec!["FOO=1 python3 x.py"]),
    ] {
        let (found, found_always) = patterns(text);
        assert_eq!((found, found_always), (owned(&expected), owned(&always)), "{text}");
    }
}

fn owned(list: &[&str]) -> Vec<String> {
    list.iter().map(|one| (*one).to_owned()).collect()
}

#[test]
fn every_command_is_found_wherever_it_hides() {
    for (text, hidden) in [
        ("a | b | rm x", "rm x"),
        ("if a; then rm x; else b; fi", "rm x"),
        ("for i in 1 2; do rm x; done", "rm x"),
        ("while rm x; do b; done", "rm x"),
        ("case a in b) rm x;; esac", "rm x"),
        ("echo \"$(rm x)\"", "rm x"),
        ("echo `rm x`", "rm x"),
        ("cat <(rm x)", "rm x"),
        ("f() { rm x; }; f", "rm x"),
        ("(a; rm x)", "rm x"),
        ("{ a; rm x; }", "rm x"),
        ("a & rm x", "rm x"),
        ("! rm x", "rm x"),
        ("a || rm x", "rm x"),
        ("X=$(rm x)", "rm x"),
        ("X=$(rm x) b", "rm x"),
        ("echo ${Y:-$(rm x)}", "rm x"),
        ("export Y=$(rm x)", "rm x"),
        ("[[ -n $(rm x) ]]", "rm x"),
        ("cat <<EOF\n$(rm x)\nEOF", "rm x"),
        ("cd $(rm x)", "rm x"),
        ("a\nrm x", "rm x"),
        ("cat <<< $(rm x)", "rm x"),
        ("echo $(( $(rm x) + 1 ))", "rm x"),
        ("for ((i=0; i<$(rm x); i++)); do b; done", "rm x"),
        ("until rm x; do b; done", "rm x"),
        ("select a in b; do rm x; done", "rm x"),
        ("echo hi > $(rm x)", "rm x"),
        ("a=($(rm x))", "rm x"),
    ] {
        let reading = read(text);
        let is_found = reading.unclear || reading.patterns.iter().any(|one| one == hidden);
        assert!(is_found, "{text}: {reading:?}");
    }
}

#[test]
fn a_text_the_grammar_does_not_understand_is_asked_about_whole() {
    for text in ["if then", "echo 'unclosed", "time { sleep 1; }", "foo() {", "a && && b", "\"$("] {
        let reading = read(text);
        assert!(reading.unclear, "{text}: {reading:?}");
        assert_eq!((reading.patterns, reading.always), (owned(&[text]), owned(&[text])));
    }
}

#[test]
fn a_very_deep_or_long_text_is_unclear() {
    assert!(read(&("$(".repeat(2000) + "a" + &")".repeat(2000))).unclear);
    assert!(read(&"a; ".repeat(200_000)).unclear);
    assert!(read(&"env ".repeat(50_000)).unclear);
    assert!(read(&format!("find . {}", "-exec ".repeat(30_000))).unclear);
    let many: String = (0..5_000).map(|number| format!("echo {number}\n")).collect();
    assert!(read(&many).unclear);
    assert!(!read(&format!("xargs rm {}", "a ".repeat(20_000))).unclear);
}

#[test]
fn setting_a_variable_is_judged_too() {
    assert_eq!(patterns("PATH=/evil; ls").0, ["PATH=/evil", "ls"]);
    assert_eq!(patterns("export A=1 && ls"), (owned(&["export A=1", "ls"]), owned(&["export A=1", "ls *"])));
}

#[test]
fn the_words_that_say_what_a_command_does_are_kept() {
    for (text, expected) in [
        ("ls -la x", "ls"),
        ("unknown a b c", "unknown"),
        ("git status", "git status"),
        ("git", "git"),
        ("git remote add x", "git remote add"),
        ("docker compose up -d", "docker compose up"),
        ("docker ps", "docker ps"),
        ("gh pr view 1", "gh pr view"),
        ("npm run", "npm run"),
        ("git -C x status", "git -C"),
        ("cargo run --bin x", "cargo run --bin"),
    ] {
        let tokens: Vec<String> = text.split(' ').map(str::to_owned).collect();
        assert_eq!(prefix(&tokens).join(" "), expected, "{text}");
    }
}

#[test]
fn the_places_a_command_works_on_are_named() {
    for (text, expected) in [
        ("rm -rf /etc/x 'a b' \"c d\"", vec!["/etc/x", "a b", "c d"]),
        ("cat $HOME/x `pwd`/y $(z)", vec!["~/x"]),
        ("cat \"${HOME}/.ssh/id\" $x/y", vec!["~/.ssh/id"]),
        ("cat {/etc/passwd,x}", vec!["/etc/passwd", "x"]),
        ("cat /etc/{a,b{c,d}}", vec!["/etc/a", "/etc/bc", "/etc/bd"]),
        ("cat */../../x", vec!["../x"]),
        ("cat a?/b/../../../x", vec!["../x"]),
        ("cat ~root/x", vec!["~root/x"]),
        ("ls /etc", vec![]),
        ("cd .. && pwd", vec![".."]),
        ("rm /tmp/a*b", vec!["/tmp/a"]),
        ("chmod +x run", vec!["run"]),
        ("echo x > /etc/passwd", vec!["/etc/passwd"]),
        ("make 2>/dev/null >&2 2>&1", vec![]),
        ("mv a\\ b ../c", vec!["a b", "../c"]),
        ("cp \"/a/$X\" /b", vec!["/b"]),
        ("echo $(cat /etc/shadow)", vec!["/etc/shadow"]),
        ("'rm' /x", vec!["/x"]),
    ] {
        assert_eq!(read(text).places, owned(&expected), "{text}");
    }
}

#[test]
fn what_git_writes_by_an_option_is_asked_about_like_a_redirection() {
    for (text, expected) in [
        ("git log --output=/etc/x", vec!["/etc/x"]),
        ("git diff --output .git/hooks/pre-commit", vec![".git/hooks/pre-commit"]),
        ("git show --outp=x", vec!["x"]),
        ("git -C . log --output=$X", vec!["--output=$X"]),
        ("git format-patch -o /etc HEAD~1", vec!["/etc"]),
        ("git format-patch -o/etc HEAD~1", vec!["/etc"]),
        ("git archive -o x.tar HEAD", vec!["x.tar"]),
        ("git worktree add -b side ../side", vec!["../side"]),
        ("git bundle create ../x HEAD", vec!["../x"]),
        ("git clone --depth 1 http://x ../y", vec!["../y"]),
        ("git log --oneline -o", vec![]),
        ("git commit -o x", vec![]),
        ("git status", vec![]),
    ] {
        let reading = read(text);
        let written: Vec<String> = reading.writes.iter().map(|write| write.path.clone()).collect();
        // A word that is not known stands for itself, so that somebody is asked.
        let expected: Vec<String> = expected.iter().map(|path| path.replace("--output=$X", "$X")).collect();
        assert_eq!(written, expected, "{text}");
        assert!(reading.writes.iter().all(|write| write.by == Writer::Redirection), "{text}");
        assert_eq!(reading.places, expected, "{text}");
    }
}

#[test]
fn always_offers_a_beginning_only_where_it_cannot_become_another_thing() {
    let always = |text: &str| read(text).always;
    for (text, expected) in [
        ("git commit -m x", vec!["git commit *"]),
        ("npm run dev", vec!["npm run dev *"]),
        ("ls -la", vec!["ls *"]),
        ("git -c core.pager=x log", vec!["git -c core.pager=x log"]),
        ("git config core.pager x", vec!["git config core.pager x"]),
        ("env ls", vec!["env ls"]),
        ("python3 -c 'x'", vec!["python3 -c 'x'"]),
        ("python3.12 x.py", vec!["python3.12 x.py"]),
        ("find . -name x", vec!["find . -name x"]),
        ("sed -i s/a/b/ x", vec!["sed -i s/a/b/ x"]),
        ("xargs rm", vec!["xargs rm"]),
        ("tar xf x", vec!["tar xf x"]),
        ("./run x", vec!["./run x"]),
        ("A=1 ls", vec!["A=1 ls"]),
        ("ls > x", vec!["ls > x"]),
        ("\"git\" commit", vec!["\"git\" commit"]),
        ("cargo run --bin x", vec!["cargo run --bin x"]),
        ("python3 *", vec![]),
        ("[[ -f x ]]", vec!["[[ -f x ]]"]),
        ("curl -s http://x", vec!["curl -s http://x"]),
        ("rg --pre x y", vec!["rg --pre x y"]),
        ("git grep x", vec!["git grep x"]),
        ("npm install x", vec!["npm install x"]),
        ("ssh-agent ls", vec!["ssh-agent ls"]),
        ("rustup run stable ls", vec!["rustup run stable ls"]),
        ("rustup show", vec!["rustup show *"]),
        ("rbenv exec ls", vec!["rbenv exec ls"]),
        ("pyenv exec ls", vec!["pyenv exec ls"]),
        ("nvm exec 18 ls", vec!["nvm exec 18 ls"]),
        ("volta run ls", vec!["volta run ls"]),
        ("ip netns exec a ls", vec!["ip netns exec a ls"]),
        ("entr ls", vec!["entr ls"]),
        ("watchexec ls", vec!["watchexec ls"]),
        ("nodemon x.js", vec!["nodemon x.js"]),
        ("hg log", vec!["hg log"]),
        ("dc x", vec!["dc x"]),
        ("m4 x", vec!["m4 x"]),
    ] {
        assert_eq!(always(text), owned(&expected), "{text}");
    }
}
