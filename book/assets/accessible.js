// Small repairs to the theme, for readers who listen to a page.
document.addEventListener("DOMContentLoaded", () => {
  // The spoken names of these two buttons left out what is written on them, or on their icons.
  const search = document.querySelector(".search-button-field");
  search?.setAttribute("aria-label", search.textContent.trim().replace(/\s+/g, " "));
  for (const button of document.querySelectorAll(".theme-switch-button")) {
    const icons = [...button.querySelectorAll("i[title], title")];
    const modes = icons.map((icon) => icon.getAttribute("title") || icon.textContent);
    button.setAttribute("aria-label", `Color mode: ${modes.join(", ")}`);
  }
  // A fold of code is named by what is written on it.
  for (const fold of document.querySelectorAll("summary[aria-label]")) {
    fold.removeAttribute("aria-label");
  }
  // A bibliography is a plain list; its roles are deprecated or lack their children.
  for (const item of document.querySelectorAll("[role=doc-biblioentry], .citation-list[role]")) {
    item.removeAttribute("role");
  }
  // A formula wider than the page scrolls, with the keyboard too.
  const reach = () => {
    for (const formula of document.querySelectorAll('mjx-container[display="true"]')) {
      if (formula.scrollWidth > formula.clientWidth) formula.setAttribute("tabindex", "0");
      else formula.removeAttribute("tabindex");
    }
  };
  addEventListener("load", () => (window.MathJax?.startup?.promise ?? Promise.resolve()).then(reach));
  addEventListener("resize", reach);
  // The title above the table of contents stood outside every landmark.
  for (const logo of document.querySelectorAll(".sidebar-primary-item:has(> .logo)")) {
    logo.setAttribute("role", "navigation");
    logo.setAttribute("aria-label", "Home");
  }
});
