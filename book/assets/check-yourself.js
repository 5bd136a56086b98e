// A question's options become a choice. What was chosen is remembered in this browser, and nowhere
// else. Without this script the options stay a list, and the answer an ordinary dropdown.
(() => {
  const key = (box) => `check:${location.pathname.split("/").pop()}#${box.querySelector(".check-title").id}`;
  const remembered = (name) => {
    try {
      return localStorage.getItem(name);
    } catch {
      return null; // a browser that keeps nothing
    }
  };
  const remember = (name, value) => {
    try {
      localStorage.setItem(name, value);
    } catch {
      /* the choice is shown all the same */
    }
  };

  function offer(box) {
    const list = box.querySelector(".check-options");
    if (!list) return;
    const title = box.querySelector(".check-title");
    const reasons = [...box.querySelectorAll(".check-reasons > dd")];
    const choice = document.createElement("fieldset");
    choice.className = "check-choice";
    const legend = document.createElement("legend");
    legend.textContent = "Your choice";
    choice.append(legend);
    const radios = [...list.children].map((item, i) => {
      const label = document.createElement("label");
      const radio = document.createElement("input");
      radio.type = "radio";
      radio.name = title.id;
      radio.value = i;
      const text = document.createElement("span");
      text.append(...item.childNodes);
      // A formula alone has no text for those who listen: its source is read out.
      if (item.dataset.label) radio.setAttribute("aria-label", item.dataset.label);
      label.append(radio, text);
      label.dataset.right = item.dataset.right;
      choice.append(label);
      return radio;
    });
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Check my choice";
    const verdict = document.createElement("div");
    verdict.className = "check-verdict";
    verdict.setAttribute("role", "status");
    list.replaceWith(choice, button, verdict);

    const show = (i) => {
      const right = radios[i].parentElement.dataset.right === "true";
      const head = document.createElement("p");
      head.innerHTML = right ? "<strong>✓ Right.</strong>" : "<strong>✗ Not this one.</strong>";
      verdict.replaceChildren(head, ...[...reasons[i].childNodes].map((node) => node.cloneNode(true)));
      box.dataset.state = right ? "right" : "wrong";
    };
    button.addEventListener("click", () => {
      const i = radios.findIndex((radio) => radio.checked);
      if (i < 0) {
        verdict.textContent = "Choose one of the options first.";
        return;
      }
      show(i);
      remember(key(box), `${i}:${box.dataset.state}`);
    });
    const earlier = remembered(key(box));
    const i = Number.parseInt(earlier, 10);
    if (radios[i]) {
      radios[i].checked = true;
      show(i);
    }
  }

  // A place on a page that says how far the reader has come, with a way to start anew.
  function count(place) {
    const mine = () => Object.keys(localStorage).filter((name) => name.startsWith("check:"));
    const write = () => {
      const right = mine().filter((name) => localStorage.getItem(name).endsWith(":right")).length;
      place.textContent = `You have answered ${right} of ${place.dataset.checks} questions right. `;
      if (mine().length) {
        const forget = document.createElement("button");
        forget.type = "button";
        forget.textContent = "Forget my answers";
        forget.addEventListener("click", () => {
          for (const name of mine()) localStorage.removeItem(name);
          write();
        });
        place.append(forget);
      }
    };
    try {
      write();
    } catch {
      place.textContent = "";
    }
  }

  // After the formulas are set, so that a copied reason has its formulas too.
  document.addEventListener("DOMContentLoaded", () => {
    const start = () => {
      document.querySelectorAll(".check-yourself").forEach(offer);
      document.querySelectorAll("[data-checks]").forEach(count);
    };
    const ready = window.MathJax?.startup?.promise;
    if (ready) ready.then(start);
    else if (document.querySelector("script[src*=mathjax]")) window.addEventListener("load", () => (window.MathJax?.startup?.promise ?? Promise.resolve()).then(start));
    else start();
  });
})();
