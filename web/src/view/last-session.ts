// Which session was open last on this device: it stands beside the list when the page is opened anew.

const NAME = "sturdy.last";

export function rememberSession(sessionID: string): void {
  localStorage.setItem(NAME, sessionID);
}

export function lastSession(): string | undefined {
  return localStorage.getItem(NAME) ?? undefined;
}
