//! How many words of a command say what it does.
//!
//! `git commit -m x` is `git commit`; `npm run dev` is `npm run dev`; an unknown program is its
//! name. The longest entry that the words begin with decides.

const TWO: &str = "bazel brew bun cargo cdk cf cmake composer consul crictl deno docker eksctl firebase flyctl git go \
gradle helm heroku hugo ip kind kubectl kustomize make mc minikube mongosh mysql mvn ng npm nvm nx openssl pip pipenv \
pnpm poetry podman psql pulumi pyenv python rake rbenv redis-cli rustup serverless skaffold sls sst swift systemctl \
terraform tmux turbo ufw vault vercel volta wp yarn";

const THREE: &str = "aws az doctl gcloud gh sfdx";

/// Programs of which some subcommands take one word more.
const THREE_WITH: [(&str, &str); 19] = [
    ("bun", "run x"),
    ("cargo", "add run"),
    ("consul", "kv"),
    ("deno", "task"),
    ("docker", "builder compose container image network volume"),
    ("eksctl", "create"),
    ("git", "config remote stash"),
    ("ip", "addr link netns route"),
    ("kind", "create"),
    ("kubectl", "kustomize rollout"),
    ("mc", "admin"),
    ("npm", "exec init run view"),
    ("openssl", "req x509"),
    ("pnpm", "dlx exec run"),
    ("podman", "container image"),
    ("pulumi", "stack"),
    ("terraform", "workspace"),
    ("vault", "auth kv"),
    ("yarn", "dlx run"),
];

/// The words that say what a command does.
#[must_use]
pub fn prefix(tokens: &[String]) -> &[String] {
    let count = arity(tokens).min(tokens.len());
    &tokens[..count]
}

fn arity(tokens: &[String]) -> usize {
    let Some(name) = tokens.first() else { return 0 };
    let lists = |list: &str, word: &str| list.split_whitespace().any(|one| one == word);
    if let Some(second) = tokens.get(1)
        && THREE_WITH.iter().any(|(program, words)| program == name && lists(words, second))
    {
        return 3;
    }
    if lists(THREE, name) {
        return 3;
    }
    if lists(TWO, name) { 2 } else { 1 }
}
