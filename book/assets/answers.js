// One switch for all answers. It lives on the pages for instructors; what it says holds for every
// page in this browser. While it is on, a page says so and offers to close its answers.
(() => {
  const NAME = "answers:open";
  const FOLDS = "article details:is(.check-answer, .sd-dropdown, :not([class])):not(.explorer *)";

  const on = () => {
    try {
      return localStorage.getItem(NAME) === "yes";
    } catch {
      return false; // a browser that keeps nothing
    }
  };

  const remember = (open) => {
    try {
      if (open) localStorage.setItem(NAME, "yes");
      else localStorage.removeItem(NAME);
    } catch {
      /* this page follows all the same */
    }
  };

  const fold = (open) => {
    for (const answer of document.querySelectorAll(FOLDS)) answer.open = open;
  };

  // The line that keeps an open page from being a surprise.
  function tell() {
    const line = document.createElement("p");
    line.className = "answers-open";
    line.setAttribute("role", "status");
    const close = document.createElement("button");
    close.type = "button";
    close.textContent = "Close them";
    close.addEventListener("click", () => {
      remember(false);
      fold(false);
      line.textContent = "Answers closed.";
      line.tabIndex = -1;
      line.focus(); // the button that had it is gone
    });
    line.append("Answers are open (the instructor’s switch). ", close);
    document.querySelector("article")?.prepend(line);
  }

  function offer(place) {
    const label = document.createElement("label");
    const box = document.createElement("input");
    box.type = "checkbox";
    box.checked = on();
    box.addEventListener("change", () => {
      remember(box.checked);
      fold(box.checked);
    });
    label.append(box, " Open all answers, on every page of the course in this browser");
    place.append(label);
    return box;
  }

  document.addEventListener("DOMContentLoaded", () => {
    const boxes = [...document.querySelectorAll(".answers-switch")].map(offer);
    if (on()) {
      fold(true);
      if (!boxes.length) tell();
    }
    addEventListener("storage", ({ key }) => {
      if (key !== NAME) return;
      for (const box of boxes) box.checked = on();
      fold(on());
    });
  });
})();
