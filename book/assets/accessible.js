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
  // The title above the table of contents stood outside every landmark.
  for (const logo of document.querySelectorAll(".sidebar-primary-item:has(> .logo)")) {
    logo.setAttribute("role", "navigation");
    logo.setAttribute("aria-label", "Home");
  }
});
