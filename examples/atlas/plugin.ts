import { definePlugin } from 'kindred';
import { City } from './city.ts';
import { Country } from './country.ts';

export default definePlugin({
  start({ schemeManager }) {
    schemeManager.register(Country);
    schemeManager.register(City);
  },
});
