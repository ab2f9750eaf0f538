// Sliders with a synchronised number field.

// Returns a field's number as text; empty: none, null: not on the scale.
function numberIn(field) {
  if (field.validity.badInput) return null;
  return field.value && (field.validity.valid ? `${field.valueAsNumber}` : null);
}

// Returns the typed number as text, or null.
export function parse(text, { low, high }) {
  const number = /\d/.test(text) ? Number(text) : NaN;
  return Number(low) <= number && number <= Number(high) ? `${number}` : null;
}

// Returns a question's slider, or null. It looks unanswered until it is touched.
export function sliderOf(question, on) {
  const box = question.querySelector(".slider");
  if (!box) return null;
  const [range, field] = ["range", "number"].map((type) => box.querySelector(`[type=${type}]`));
  question.form.noValidate = true; // the page shows its own messages

  function show() {
    const value = numberIn(field);
    range.value = value ?? range.value; // an empty field leaves the slider in the middle
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
  on(field, "wheel", () => field.blur()); // the wheel would change the number
  show();
  return {
    field,
    value: () => numberIn(field),
    set(value) {
      field.value = value;
      show();
    },
    // A slider pressed at its current value fires no event.
    press() {
      if (!field.value) follow();
    },
  };
}
