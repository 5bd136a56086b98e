"""Time the model in the page: headless Chromium, on the site that `make book` built.

    make bench

What is timed stands beside what it may take. Nothing else should run meanwhile.
"""

from serve import browsing, serving

MODEL = """async (base) => {
    const { Model, Reading } = await import(`${base}model.js`);
    const file = await fetch(`${base}minigpt-float16.safetensors`);
    const model = new Model(await file.arrayBuffer());
    const ids = model.about.excerpt.slice(0, model.T_max);
    const times = (act, rounds) => Array.from({ length: rounds }, (_, round) => {
        const begun = performance.now();
        act(round);
        return performance.now() - begun;
    });
    const median = (all) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)];
    const whole = () => new Reading(model).extend(ids).maps();
    times(whole, 5);  // until the compiler has seen it
    const growing = new Reading(model);
    return {
        whole: median(times(whole, 20)),
        character: median(times((t) => growing.extend([ids[t]]), ids.length)),
    };
}"""

# From a letter typed until everything on the page has been drawn anew.
TYPED = """async (length) => {
    const box = document.querySelector(".explorer textarea");
    const app = document.querySelector(".explorer-app");
    const settled = () => new Promise((resolve) => {
        const watch = new MutationObserver(() => {
            if (app.dataset.state !== "settled") return;
            watch.disconnect();
            resolve();
        });
        watch.observe(app, { attributeFilter: ["data-state"] });
    });
    const type = async (text) => {
        const begun = performance.now();
        box.value = text;
        const done = settled();
        box.dispatchEvent(new Event("input"));
        await done;
        return performance.now() - begun;
    };
    const line = "now is the winter of our discontent made glorious summer, ".repeat(9);
    await type(line.slice(0, length));
    const times = [];
    for (let more = 1; more <= 20; more++) times.push(await type(line.slice(0, length + more)));
    return times.sort((a, b) => a - b)[10];
}"""

# The longest that the page did not answer while the model wrote beyond its window.
FROZEN = """() => new Promise((resolve) => {
    document.querySelector(".explorer-write button").click();
    let last = performance.now(), longest = 0;
    const until = last + 5000;
    const frame = (now) => {
        longest = Math.max(longest, now - last);
        last = now;
        if (now < until) requestAnimationFrame(frame);
        else resolve(longest);
    };
    requestAnimationFrame(frame);
})"""


def main() -> None:
    with serving() as site, browsing() as browser:
        page = browser.new_page()
        page.goto(f"{site}book/explorer.html")
        page.wait_for_selector(".explorer-bars tbody tr")
        model = page.evaluate(MODEL, f"{site}_static/explorer/")
        rows = [
            ("a full pass over 128 characters, with all maps", model["whole"], 150),
            ("one more character inside the window", model["character"], 5),
            ("one more beyond it: a full pass, as above", model["whole"], 150),
            ("typed inside the window, until drawn", page.evaluate(TYPED, 60), None),
            ("typed beyond the window, until drawn", page.evaluate(TYPED, 200), None),
            ("longest stand-still of the page while it writes", page.evaluate(FROZEN), None),
        ]
    print("The model in the page, milliseconds (median, and what it may take)")
    for name, milliseconds, limit in rows:
        print(f"{name:50}{milliseconds:8.1f}{f'{limit:8}' if limit else ''}")


if __name__ == "__main__":
    main()
