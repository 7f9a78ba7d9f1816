"use strict";
(() => {
  const svg = document.querySelector("main > svg");
  const scene = svg.querySelector(".scene");
  const hint = document.getElementById("hint");
  const details = document.getElementById("details");
  const methods = [...svg.querySelectorAll(".method")];
  const ways = [...svg.querySelectorAll(".way, .label")];
  const area = svg.viewBox.baseVal;
  const home = { x: area.x, y: area.y, width: area.width, height: area.height };
  const least = 0.05, most = 6, readable = 0.75;
  let scale = 1, left = 0, top = 0;

  svg.removeAttribute("viewBox");
  svg.setAttribute("tabindex", "0");
  for (const method of methods) {
    const title = method.querySelector("title");
    method.hint = title.textContent;
    title.remove();
  }

  // The view: a point p of the drawing is seen at p * scale + (left, top).

  const show = () => scene.setAttribute("transform", `translate(${left} ${top}) scale(${scale})`);

  const zoom = (factor, x = svg.clientWidth / 2, y = svg.clientHeight / 2) => {
    const next = Math.min(most, Math.max(least, scale * factor));
    left = x - ((x - left) * next) / scale;
    top = y - ((y - top) * next) / scale;
    scale = next;
    show();
  };

  const room = () => {
    const above = document.querySelector("header").offsetHeight;
    const below = document.getElementById("legend").offsetHeight + 24;
    return { above, width: svg.clientWidth, height: Math.max(60, svg.clientHeight - above - below) };
  };

  const whole = () => {
    const { above, width, height } = room();
    scale = Math.max(least, Math.min(width / home.width, height / home.height, 1.6));
    left = (width - home.width * scale) / 2 - home.x * scale;
    top = above + (height - home.height * scale) / 2 - home.y * scale;
    show();
  };

  // What would be too small to be read is not shown whole at first, but from its beginning.
  const begin = () => {
    whole();
    if (scale >= readable) return;
    const { above, width, height } = room();
    scale = readable;
    left = Math.max((width - home.width * scale) / 2, 0) - home.x * scale;
    const starts = methods.filter((one) => one.classList.contains("begins")).map((one) => one.querySelector(".shape").getBBox());
    const boxes = starts.length ? starts : [home];
    const high = Math.min(...boxes.map((box) => box.y)), low = Math.max(...boxes.map((box) => box.y + box.height));
    top = above + height / 2 - ((high + low) / 2) * scale;
    if (home.height * scale <= height) top = above + (height - home.height * scale) / 2 - home.y * scale;
    show();
  };

  // Dragging: the sheet, or one method with the ends of its ways.

  const move = (method, dx, dy) => {
    method.dx = (method.dx || 0) + dx;
    method.dy = (method.dy || 0) + dy;
    method.setAttribute("transform", `translate(${method.dx} ${method.dy})`);
    for (const way of ways) {
      const from = way.dataset.from === method.dataset.name, to = way.dataset.to === method.dataset.name;
      if (!from && !to) continue;
      if (way.matches(".label")) {
        if (!(from && to)) continue;
        way.dx = (way.dx || 0) + dx;
        way.dy = (way.dy || 0) + dy;
        way.setAttribute("transform", `translate(${way.dx} ${way.dy})`);
        continue;
      }
      const points = way.getAttribute("d").match(/-?[\d.]+/g).map(Number);
      const shift = (place) => { points[place] += dx; points[place + 1] += dy; };
      if (from) { shift(0); shift(2); }
      if (to) { shift(points.length - 4); shift(points.length - 2); }
      let path = `M${points[0]} ${points[1]}`;
      for (let place = 2; place < points.length; place += 6) path += ` C${points.slice(place, place + 6).join(" ")}`;
      way.setAttribute("d", path);
    }
  };

  const fingers = new Map();
  let held = null, moved = false;

  svg.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    fingers.set(event.pointerId, event);
    svg.setPointerCapture(event.pointerId);
    if (fingers.size > 1) { held = null; moved = true; return; }
    held = event.target.closest(".method") || svg;
    moved = false;
    svg.classList.add("held");
  });

  svg.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return hover(event);
    const dx = event.clientX - before.clientX, dy = event.clientY - before.clientY;
    if (!moved && Math.hypot(dx, dy) < 4) return;
    moved = true;
    hint.hidden = true;
    if (fingers.size === 2) {
      const [other] = [...fingers.values()].filter((one) => one.pointerId !== event.pointerId);
      const apart = (one) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
      zoom(apart(event) / Math.max(1, apart(before)), other.clientX, other.clientY);
    } else if (held === svg) {
      left += dx;
      top += dy;
      show();
    } else if (held) {
      move(held, dx / scale, dy / scale);
    }
    fingers.set(event.pointerId, event);
  });

  const release = (event) => {
    fingers.delete(event.pointerId);
    svg.classList.remove("held");
    if (event.type === "pointerup" && !moved && held) held === svg ? choose(null) : choose(held);
    held = null;
  };
  svg.addEventListener("pointerup", release);
  svg.addEventListener("pointercancel", release);

  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    const pixels = event.deltaMode === 0 ? event.deltaY : event.deltaY * 30;
    zoom(Math.exp(-Math.max(-300, Math.min(300, pixels)) / 500), event.clientX, event.clientY);
  }, { passive: false });

  // What belongs to a method is seen when it is pointed at or has the focus; its details when it is chosen.

  const seek = (method) => {
    svg.classList.toggle("seeking", method !== null);
    for (const one of svg.querySelectorAll(".near")) one.classList.remove("near");
    if (method === null) return;
    const name = method.dataset.name, near = new Set([name]);
    for (const way of ways) {
      if (way.dataset.from !== name && way.dataset.to !== name) continue;
      way.classList.add("near");
      near.add(way.dataset.from).add(way.dataset.to);
    }
    for (const one of methods) one.classList.toggle("near", near.has(one.dataset.name));
  };

  const tell = (method, x, y) => {
    hint.hidden = method === null;
    if (method === null) return;
    hint.textContent = method.hint;
    hint.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - hint.offsetWidth - 8))}px`;
    hint.style.top = `${Math.max(4, Math.min(y + 14, innerHeight - hint.offsetHeight - 8))}px`;
  };

  const hover = (event) => {
    const method = event.target.closest ? event.target.closest(".method") : null;
    seek(method);
    tell(method, event.clientX, event.clientY);
  };
  svg.addEventListener("pointerleave", () => { seek(null); tell(null); });

  let chosen = null;
  const choose = (method) => {
    if (chosen) chosen.classList.remove("chosen");
    chosen = method;
    details.hidden = method === null;
    if (method === null) return;
    method.classList.add("chosen");
    for (const article of details.querySelectorAll("article")) article.hidden = article.dataset.name !== method.dataset.name;
    details.scrollTop = 0;
    tell(null);
  };

  const shut = () => {
    const before = chosen;
    choose(null);
    tell(null);
    seek(null);
    if (before && details.contains(document.activeElement)) before.focus();
  };

  for (const method of methods) {
    method.addEventListener("focus", () => {
      if (!method.matches(":focus-visible")) return;
      const box = method.getBoundingClientRect(), margin = 20;
      const { above, width, height } = room();
      const right = box.right - (width - margin), low = box.bottom - (above + height);
      left += box.left < margin ? margin - box.left : right > 0 ? -right : 0;
      top += box.top < above ? above - box.top : low > 0 ? -low : 0;
      show();
      seek(method);
      const now = method.getBoundingClientRect();
      tell(method, now.right, now.bottom);
    });
    method.addEventListener("blur", () => { seek(null); tell(null); });
  }

  const step = 60;
  const keys = {
    "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), "0": whole, Escape: shut,
    ArrowLeft: () => { left += step; show(); }, ArrowRight: () => { left -= step; show(); },
    ArrowUp: () => { top += step; show(); }, ArrowDown: () => { top -= step; show(); },
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const method = event.target.closest(".method");
    if (method && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      choose(method === chosen ? null : method);
    } else if (event.key in keys && !(details.contains(event.target) && event.key.startsWith("Arrow"))) {
      event.preventDefault();
      keys[event.key]();
    }
  });

  document.getElementById("closer").addEventListener("click", () => zoom(1.25));
  document.getElementById("further").addEventListener("click", () => zoom(0.8));
  document.getElementById("whole").addEventListener("click", whole);
  document.getElementById("shut").addEventListener("click", shut);
  begin();
})();
