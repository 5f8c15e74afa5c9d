/** The time, to ten seconds, for all ages on the screen. */
import { ref } from 'vue';

export const now = ref(Date.now());

setInterval(() => {
  now.value = Date.now();
}, 10_000);
