// Before a page is printed its folds are opened, in browsers whose style sheets cannot do it, and it
// turns light: dark ink on white paper. Afterwards everything is as it was.
(() => {
  const root = document.documentElement;
  let restore = () => {};

  addEventListener("beforeprint", () => {
    const closed = document.querySelectorAll("details:not([open])");
    const { theme } = root.dataset;
    restore = () => {
      for (const fold of closed) fold.open = false;
      root.dataset.theme = theme;
    };
    for (const fold of closed) fold.open = true;
    root.dataset.theme = "light";
  });
  addEventListener("afterprint", () => restore());
})();
