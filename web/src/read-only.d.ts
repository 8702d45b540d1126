// What the builds say about themselves (`define` in their configurations).

/** Whether this build only shows a session: the share page and the exported file. The page itself says false. */
declare const READ_ONLY: boolean;
