// The page begins.

import "./first-requests.ts";
import { render } from "solid-js/web";
import "./style/base.css";
import "./style/tokens.css";
import "./style/prose.css";
import "./style/parts.css";
import "./style/pages.css";
import { App } from "./page/app.tsx";
import { sessionIn } from "./view/prefetch.ts";
import { begin, line, tabs } from "./view/live.ts";
import { preferences, readPreferences, showTheme } from "./view/preferences.ts";
import { startRouter } from "./view/router.ts";

showTheme();
startRouter();
tabs.onPreferences = readPreferences;
document.addEventListener("visibilitychange", () => line.visible(document.visibilityState === "visible"));
for (const name of ["online", "pageshow"]) window.addEventListener(name, () => line.hurry());
/** Loaded with the first failure. */
const report = (cause: unknown) => void import("./view/report.ts").then((file) => file.report(cause), () => {});
// Without an error it is the browser that tells of itself: a size that changed while it was being looked at, most of all.
window.addEventListener("error", (event) => event.error && report(event.error));
window.addEventListener("unhandledrejection", (event) => report(event.reason));
const root = document.getElementById("root");
if (root) render(() => <App />, root);
begin(sessionIn(location.pathname));
if (preferences().notices) void import("./view/notices.ts").then((file) => file.startNotices(), () => {});
