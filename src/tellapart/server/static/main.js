// The page as this server serves it.
import { run } from "./flow.js";
import { Server } from "./server.js";

run(new Server());
