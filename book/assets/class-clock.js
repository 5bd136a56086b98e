// A clock for whoever teaches: where in the plan the class should be, and for how long yet. When the
// class began is remembered in this browser, and nowhere else, so that the clock survives a reload.
const NAME = "class-clock:began";
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const FORGET = DAY / 2; // yesterday's class is over

const FACE = `
  <div class="class-clock-face">
    <p class="class-clock-part"></p>
    <p class="class-clock-left"></p>
    <progress aria-hidden="true" value="0"></progress>
    <p class="class-clock-next"></p>
  </div>
  <p class="visually-hidden" role="status"></p>
  <form class="class-clock-set" novalidate>
    <button type="button" class="class-clock-start">Start now</button>
    <label>We began at <input type="time" required></label>
    <button type="submit">Set</button>
    <button type="button" class="class-clock-stop">Stop</button>
  </form>
  <p class="class-clock-error" role="alert"></p>`;

function remembered() {
  try {
    const began = Number(localStorage.getItem(NAME) ?? NaN);
    return Date.now() - began < FORGET ? began : null;
  } catch {
    return null; // a browser that keeps nothing
  }
}

function remember(began) {
  try {
    if (began === null) localStorage.removeItem(NAME);
    else localStorage.setItem(NAME, began);
  } catch {
    /* the clock runs until the page is left */
  }
}

const minutes = (count) => (count === 1 ? "1 minute" : `${count} minutes`);
const hands = (time) => new Date(time).toTimeString().slice(0, 5);

/** Turn hh:mm into the moment nearest to now that the hands show. */
function moment(time) {
  const [hour, minute] = time.split(":").map(Number);
  const then = new Date();
  then.setHours(hour, minute, 0, 0);
  const off = then.getTime() - Date.now();
  if (off > FORGET) return then.getTime() - DAY;
  return off < -FORGET ? then.getTime() + DAY : then.getTime();
}

export function mount(place) {
  const parts = JSON.parse(place.dataset.parts);
  const last = parts.at(-1);
  const total = last.start + last.minutes;
  place.innerHTML = FACE;
  const find = (selector) => place.querySelector(selector);
  const rows = document.querySelectorAll(".class-timeline tbody tr");
  const field = find("input");
  field.value = place.dataset.begin;
  let began = remembered();
  let announced;

  // Written only when it changes, so that nothing is read out or drawn anew every second.
  const write = (selector, words) => {
    const line = find(selector);
    if (line.textContent !== words) line.textContent = words;
  };

  const say = (part, left, next) => {
    write(".class-clock-part", part);
    write(".class-clock-left", left);
    write(".class-clock-next", next);
  };

  function show() {
    const elapsed = (Date.now() - began) / MINUTE;
    const now = began === null ? -1 : parts.findIndex(({ start, minutes: long }) => elapsed >= start && elapsed < start + long);
    const part = parts[now];
    const bar = find("progress");
    if (began === null) {
      say("The clock is not running.", `The plan takes ${minutes(total)}.`, "");
    } else if (elapsed < 0) {
      say("Not yet.", `The class begins in ${minutes(Math.ceil(-elapsed))}, at ${hands(began)}.`, `First: ${parts[0].name}`);
    } else if (!part) {
      say("The class is over.", `Its ${minutes(total)} ended at ${hands(began + total * MINUTE)}.`, "");
    } else {
      const next = parts[now + 1];
      const end = began + (part.start + part.minutes) * MINUTE;
      say(
        part.name,
        `${minutes(Math.ceil(part.start + part.minutes - elapsed))} left of ${part.minutes}`,
        next ? `Next, at ${hands(end)}: ${next.name}` : `The end is at ${hands(end)}.`,
      );
      bar.max = part.minutes;
      bar.value = elapsed - part.start;
    }
    bar.hidden = !part;
    rows.forEach((row, i) => {
      if (i === now) row.setAttribute("aria-current", "time");
      else row.removeAttribute("aria-current");
    });
    find(".class-clock-stop").hidden = began === null;
    find(".class-clock-start").textContent = began === null ? "Start now" : "Start again now";
    // The first look at a page is no change of part.
    const heading = find(".class-clock-part").textContent;
    if (announced !== undefined && announced !== heading) {
      write("[role=status]", part ? `Now: ${part.name}. ${minutes(part.minutes)}.` : heading);
    }
    announced = heading;
  }

  function begin(time) {
    began = time;
    remember(time);
    write("[role=alert]", "");
    if (time !== null) field.value = hands(time);
    show();
  }

  if (began !== null) field.value = hands(began);
  find(".class-clock-start").addEventListener("click", () => begin(Date.now()));
  find(".class-clock-stop").addEventListener("click", () => {
    begin(null);
    find(".class-clock-start").focus(); // its own button is gone
  });
  find("form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (field.value) begin(moment(field.value));
    else write("[role=alert]", "Put in hours and minutes, such as 09:15.");
  });
  // The clock in another tab of this browser was set.
  addEventListener("storage", ({ key }) => {
    if (key !== NAME) return;
    began = remembered();
    show();
  });
  setInterval(show, 1000);
  show();
}
