// On pages between stories: sends what still waits in this browser, and says how it is.
import { openQueue } from "./queue.js";
import { teller } from "./state.js";

openQueue(teller(), () => {}).resume();
