// Numbers of several digits: a slider with a number field, kept in step.

// The number that a field holds, as text; empty: none, null: no value of the scale.
function numberIn(field) {
  if (field.validity.badInput) return null;
  return field.value && (field.validity.valid ? `${field.valueAsNumber}` : null);
}

// The number that was typed, as text, or null.
export function parse(text, { low, high }) {
  const number = /\d/.test(text) ? Number(text) : NaN;
  return Number(low) <= number && number <= Number(high) ? `${number}` : null;
}

// A question's slider, or nothing. It looks unanswered until it is touched.
export function sliderOf(question, on) {
  const box = question.querySelector(".slider");
  if (!box) return null;
  const [range, field] = ["range", "number"].map((type) => box.querySelector(`[type=${type}]`));
  question.form.noValidate = true; // the page says itself what is wrong

  function show() {
    const value = numberIn(field);
    range.value = value ?? range.value; // none: the middle
    box.classList.toggle("unanswered", !value);
    field.ariaInvalid = value === null;
    const anchor = box.querySelector(`[data-anchor="${value}"]`)?.textContent;
    range.ariaValueText = value ? [value, anchor].filter(Boolean).join(", ") : range.parentElement.dataset.unanswered;
  }

  function follow() {
    field.value = range.value;
    show();
  }

  on(range, "input", follow);
  on(field, "input", show);
  on(field, "wheel", () => field.blur()); // it would turn the number
  show();
  return {
    field,
    value: () => numberIn(field),
    set(value) {
      field.value = value;
      show();
    },
    // Pressed where it stands, a slider tells of no change.
    press() {
      if (!field.value) follow();
    },
  };
}
