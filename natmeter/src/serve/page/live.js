// Follows a run: takes the content of a new page each second until the run has ended.
"use strict";
const PAUSE = 1000;

async function follow() {
  const main = document.querySelector("main");
  try {
    const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
    const next = page.querySelector("main");
    if (next.innerHTML !== main.innerHTML) main.replaceWith(next);
  } catch {
    document.getElementById("status").textContent = "The connection is lost; the page tries again.";
  }
  again();
}

function again() {
  const status = document.getElementById("status");
  if (status && !("ended" in status.dataset)) setTimeout(follow, PAUSE);
}

again();
