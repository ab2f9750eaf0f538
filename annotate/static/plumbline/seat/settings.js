// Choices that hold for all stories in this browser: texts hidden, speed, keys off.
const PLACE = "plumbline-seat";
const kept = JSON.parse(localStorage.getItem(PLACE)) || {};

export const setting = (name) => kept[name];

export function setSetting(name, value) {
  kept[name] = value;
  localStorage.setItem(PLACE, JSON.stringify(kept));
}
