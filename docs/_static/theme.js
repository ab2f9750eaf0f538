// Before anything is drawn: the theme that the reader chose last.
document.body.dataset.theme = localStorage.getItem("theme") || "auto";
