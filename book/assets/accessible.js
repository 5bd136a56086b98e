// Small repairs to the theme, for readers who listen to a page.
document.addEventListener("DOMContentLoaded", () => {
  // The spoken name of these buttons left out the text that is seen on them.
  for (const button of document.querySelectorAll(".search-button-field, .theme-switch-button")) {
    const name = button.getAttribute("aria-label");
    const text = button.textContent.trim().replace(/\s+/g, " ");
    button.setAttribute("aria-label", text.startsWith(name) ? text : `${name} ${text}`.trim());
  }
  // The title above the table of contents stood outside every landmark.
  for (const logo of document.querySelectorAll(".sidebar-primary-item:has(> .logo)")) {
    logo.setAttribute("role", "navigation");
    logo.setAttribute("aria-label", "Home");
  }
});
