// The form, and the exchange of a one-time code that stands in the address.

import { Show, createSignal, onMount } from "solid-js";
import { asCallError } from "../wire/api.ts";
import { api, start } from "../view/live.ts";
import { navigate } from "../view/router.ts";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";
import type { CallOptions } from "../wire/api.ts";

export function LoginPage() {
  const [user, setUser] = createSignal("opencode");
  const [password, setPassword] = createSignal("");
  const [trouble, setTrouble] = createSignal("");
  const enter = async (path: string, options: CallOptions) => {
    try {
      await api.call(path, { method: "POST", ...options });
      if (location.pathname === "/login") navigate("/", "replace");
      await start("login");
    } catch (cause) {
      const error = asCallError(cause);
      setTrouble(error.status === 401 ? panelWords.loginWrong : error.message);
    }
  };
  onMount(() => {
    const code = /^#once=([\w-]+)$/.exec(location.hash)?.[1];
    if (code === undefined) return;
    history.replaceState(null, "", "/login");
    void enter("/sturdy/login/once", { body: { code } });
  });
  return (
    <main class="page login" id="main" aria-label={words.login}>
      <form onSubmit={(event) => { event.preventDefault(); void enter("/sturdy/login", { basic: `${user()}:${password()}` }); }}>
        <h1>{words.name}</h1>
        <label>{panelWords.user}<input type="text" name="username" autocomplete="username" value={user()} onInput={(event) => setUser(event.currentTarget.value)} /></label>
        <label>{panelWords.password}<input type="password" name="password" autocomplete="current-password" value={password()} onInput={(event) => setPassword(event.currentTarget.value)} autofocus /></label>
        <Show when={trouble() !== ""}><p class="bad small" role="alert">{trouble()}</p></Show>
        <button type="submit" class="primary wide">{words.login}</button>
      </form>
    </main>
  );
}
