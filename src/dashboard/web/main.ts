/** Start of the dashboard in the browser. */
import { createApp } from 'vue';
import App from './app.vue';
import './tokens.css';
import './style.css';
import './tables.css';
import { startTheme } from './lib/theme';
import { router } from './router';

startTheme();
createApp(App).use(router).mount('#app');
