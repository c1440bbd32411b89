// Follows a run: writes the fields of each "state" message into the page, and appends each "line" to the log.
"use strict";
const status_ = document.getElementById("status");
const log = document.getElementById("log");
const MOST = 100;

function follow() {
  const events = new EventSource(status_.dataset.events);
  events.addEventListener("open", () => { status_.textContent = "The page follows the run."; });
  events.addEventListener("error", () => { status_.textContent = "The connection is lost; the browser tries again."; });
  events.addEventListener("state", (message) => {
    for (const [name, text] of Object.entries(JSON.parse(message.data))) {
      const field = document.getElementById("field-" + name);
      if (field) field.textContent = text || "–";
    }
  });
  events.addEventListener("line", (message) => {
    const item = document.createElement("li");
    item.textContent = JSON.parse(message.data);
    log.append(item);
    while (log.children.length > MOST) log.firstElementChild.remove();
  });
  events.addEventListener("end", () => {
    events.close();
    status_.textContent = "The run has ended.";
  });
}

if (status_.dataset.ended !== "true") follow();
