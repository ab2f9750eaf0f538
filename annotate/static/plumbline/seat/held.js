// Enter that is still held presses nothing on the next page.
addEventListener("keydown", (e) => e.repeat && e.key === "Enter" && e.preventDefault());
