// Pages work without this file. It adds buttons that copy.
"use strict";

function addCopyButtons(root) {
  for (const block of root.querySelectorAll("pre.copy")) {
    if (!navigator.clipboard || block.parentElement.classList.contains("copied")) continue;
    const frame = document.createElement("div");
    frame.className = "copied";
    block.replaceWith(frame);
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      let text = "Copied";
      try {
        await navigator.clipboard.writeText(block.textContent);
      } catch {
        getSelection().selectAllChildren(block);
        text = "Press Ctrl+C";
      }
      button.textContent = text;
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    frame.append(block, button);
  }
}

addCopyButtons(document);
