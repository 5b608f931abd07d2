// Search works without this file. It shows results while words are typed.
"use strict";

const box = document.getElementById("q");
const results = document.getElementById("results");
const whole = [...results.cloneNode(true).childNodes];
const isSearch = new URLSearchParams(location.search).has("q");
let waiting = 0, asked = 0;

async function search() {
  const mine = ++asked;
  const words = box.value.trim();
  const folder = box.form.getAttribute("action");
  if (!words && !isSearch) {
    results.replaceChildren(...whole.map(each => each.cloneNode(true)));
    return;
  }
  let page;
  try {
    const answer = await fetch(`${folder}?${new URLSearchParams({ q: words })}`, { headers: { Accept: "text/html" } });
    if (!answer.ok) return;
    page = new DOMParser().parseFromString(await answer.text(), "text/html");
  } catch {
    return;  // the button still sends the form
  }
  if (mine === asked) results.replaceChildren(...page.getElementById("results").childNodes);
}

box.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(search, 150);
});
