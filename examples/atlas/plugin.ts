import { definePlugin } from 'kindred';
import { City } from './city.ts';
import { Country } from './country.ts';
import { citySearch } from './search.ts';

export default definePlugin({
  start({ schemeManager, registerEndpoint }) {
    schemeManager.register(Country);
    schemeManager.register(City);
    registerEndpoint(citySearch);
  },
});
